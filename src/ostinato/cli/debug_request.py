"""Whether a log was asked for, and where it goes: read from the command line before anything can fail."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

FLAG = "--debug"


class DebugRequest(NamedTuple):
    """`file` "" is standard error. `has_content`: what is said in requests and replies goes into the log, too."""

    file: str = ""
    has_content: bool = False


def debug_request(argv: Sequence[str], environment: Mapping[str, str]) -> DebugRequest | None:
    """None: no log. `--debug`, `--debug=FILE` and `OSTINATO_DEBUG` ask for one; behind `--` nothing is a flag."""
    flags = argv[: argv.index("--")] if "--" in argv else argv
    has_content = "--debug-content" in flags
    named = [flag.partition("=")[2] for flag in flags if flag == FLAG or flag.startswith(f"{FLAG}=")]
    if named:
        return DebugRequest(named[-1], has_content)
    is_set = environment.get("OSTINATO_DEBUG", "") not in {"", "0"}
    return DebugRequest("", has_content) if is_set else None


def without_bare_debug(argv: Sequence[str]) -> list[str]:
    """`--debug` alone with an empty value: Click would else take the prompt that follows for its file."""
    end = argv.index("--") if "--" in argv else len(argv)
    return [f"{FLAG}=" if word == FLAG and index < end else word for index, word in enumerate(argv)]
