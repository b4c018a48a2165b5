"""The command of the settings that prints a key (`apiKeyHelper`), and one run of it.

Promise: an error names the command and its file, never anything that it printed; of a project only what was trusted is run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ostinato.config.project_things import Things, files_named_in, is_unchanged
from ostinato.config.source import PROJECT_LEVELS, Sourced
from ostinato.engine.configuration import Configuration
from ostinato.errors import ConfigurationError
from ostinato.sandbox.environment import steers_shell
from ostinato.sandbox.process import run_process
from ostinato.secret_values import without_secrets

KEPT_MS: Final = 300_000
"""As long as the field's clients keep a key."""

KEPT_VARIABLES: Final = ("OSTINATO_API_KEY_HELPER_TTL_MS", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS")
PROVIDER_VARIABLE: Final = "OSTINATO_KEY_PROVIDER"
PROJECT_VARIABLES: Final = ("OSTINATO_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
OTHER_TOOLS_FOLDERS: Final = frozenset({".claude", "claude-code"})

TIMEOUT_S: Final = 60.0
"""A password manager may ask its user first."""

MAX_KEY_BYTES: Final = 16_384
MAX_SHOWN_CHARACTERS: Final = 100
MAX_DIGITS: Final = 12


class KeyCommand(msgspec.Struct, frozen=True):
    """`text` is for `sh`, and starts in `folder`. `named` are files of the project that it names, as they were trusted."""

    text: str
    origin: str
    folder: Path
    environment: Mapping[str, str]
    named: Mapping[str, str | None] = msgspec.field(default_factory=dict[str, str | None])

    def __str__(self) -> str:
        first = without_secrets(" ".join(self.text.split()))
        cut = first if len(first) <= MAX_SHOWN_CHARACTERS else first[:MAX_SHOWN_CHARACTERS] + "…"
        return f"`{cut}` (`apiKeyHelper` of `{self.origin}`)"


def key_command(
    helper: Sourced[str],
    configuration: Configuration,
    environment: Mapping[str, str],
    *,
    provider: str,
    cwd: Path,
) -> KeyCommand | None:
    """The command for models of this provider; None where it is not meant for them: the other tool's files know one only."""
    source = helper.origin.source
    if provider != "anthropic" and source.path is not None and source.path.parent.name in OTHER_TOOLS_FOLDERS:
        return None
    is_projects = source.level in PROJECT_LEVELS
    root = configuration.places.project_root
    trusted = Things({}) if configuration.found is None else configuration.found.things
    # Not the working folder: there a name without a folder may be a file of anybody's.
    folder = root if is_projects else source.anchor or cwd
    named = (
        {name: trusted.digests.get(name) for name in files_named_in(helper.value, root)}
        if is_projects
        else {}
    )
    kept = {name: value for name, value in environment.items() if not steers_shell(name)}
    told = {PROVIDER_VARIABLE: provider, **dict.fromkeys(PROJECT_VARIABLES, str(root))}
    return KeyCommand(helper.value, str(source), folder, {**kept, **told}, named)


async def ask_command(command: KeyCommand) -> str:
    """The key. Raises ConfigurationError that says what is wrong with the command, and nothing of what it printed."""
    trusted = Things(command.named)
    changed = [name for name in command.named if not is_unchanged(trusted, command.folder, name)]
    if changed:
        raise _no_key(command, f"names `{changed[0]}`, which is not what was trusted")
    result = await run_process(
        ("/bin/sh", "-c", command.text),
        cwd=command.folder,
        env=command.environment,
        timeout_s=TIMEOUT_S,
        max_output_bytes=MAX_KEY_BYTES,
        separate_stderr=True,
    )
    key = result.output.strip()
    if result.timed_out:
        raise _no_key(command, f"took longer than {TIMEOUT_S:.0f} s")
    if result.exit_code != 0:
        raise _no_key(command, f"failed with exit code {result.exit_code}")
    if not key:
        raise _no_key(command, "printed nothing")
    if len(key) > MAX_KEY_BYTES or not (key.isascii() and key.isprintable() and " " not in key):
        raise _no_key(command, "printed more than one plain word")
    return key


def _no_key(command: KeyCommand, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"there is no key: the command {command} {what}",
        hint="run it yourself; it is to print the key and nothing else",
    )


def kept_s(environment: Mapping[str, str]) -> float:
    """How long a key is used before it is asked for again. Raises ConfigurationError for a variable that is no number."""
    for name in KEPT_VARIABLES:
        value = environment.get(name, "").strip()
        if not value:
            continue
        if not (value.isascii() and value.isdecimal() and len(value) <= MAX_DIGITS):
            raise ConfigurationError(
                f"`{name}` is not a number", hint="it takes milliseconds, as a whole number from 0"
            )
        return int(value) / 1_000
    return KEPT_MS / 1_000
