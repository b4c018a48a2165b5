"""Programs that run another program: what a command line runs besides itself, so that rules see all of it.

Promise: a wrapper whose own words are not understood gives `Unprovable`; it never hides the program inside.
"""

import re

import msgspec
from msgspec.structs import replace

from ostinato.permissions.shell_builtins import is_local_variable, is_safe_variable
from ostinato.permissions.shell_command import SimpleCommand, Unprovable
from ostinato.permissions.shell_reader import read_command

Words = tuple[str | None, ...]
MAX_WRAPPERS = 10
INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|node|php|lua|tclsh|deno|bun)[0-9.]*")
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
TRANSPARENT = frozenset({
    "timeout",
    "time",
    "nice",
    "nohup",
    "stdbuf",
    "command",
    "builtin",
    "xargs",
    "setsid",
})
"""Wrappers that rules look through: allowing the inner program is enough."""


class WrapperForm(msgspec.Struct, frozen=True):
    """The options of a wrapper: letters and long names without a value, the same with one, operands of its own."""

    flags: str = ""
    with_value: str = ""
    long_flags: frozenset[str] = frozenset()
    long_with_value: frozenset[str] = frozenset()
    operands: int = 0
    has_assignments: bool = False
    has_numeric_flag: bool = False


def _form(
    flags: str = "",
    with_value: str = "",
    long_flags: str = "",
    long_with_value: str = "",
    *,
    operands: int = 0,
) -> WrapperForm:
    return WrapperForm(
        flags, with_value, frozenset(long_flags.split()), frozenset(long_with_value.split()), operands
    )


FORMS = {
    "timeout": _form("v", "ks", "foreground preserve-status verbose", "kill-after signal", operands=1),
    "nice": replace(_form("", "n", "", "adjustment"), has_numeric_flag=True),
    "nohup": _form(),
    "time": _form("pvq", "", "portability verbose quiet"),
    "env": replace(_form("iv0", "uC", "ignore-environment null debug", "unset chdir"), has_assignments=True),
    "command": _form("p"),
    "builtin": _form(),
    "stdbuf": _form("", "ioe", "", "input output error"),
    "setsid": _form("cfw", "", "ctty fork wait"),
    "ionice": _form("t", "cn", "ignore", "class classdata"),
    "xargs": _form(
        "0rtpx",
        "nPLsdEI",
        "null no-run-if-empty verbose exit interactive",
        "max-args max-procs max-lines max-chars delimiter replace eof",
    ),
    "sudo": replace(
        _form("AbEHknPS", "ugpCTh", "non-interactive preserve-env stdin set-home", "user group prompt"),
        has_assignments=True,
    ),
    "doas": _form("n", "uC"),
    "watch": _form(
        "bcdegtpx", "n", "beep color errexit chgexit no-title precise exec differences", "interval"
    ),
    "chroot": _form("", "", "", "userspec groups", operands=1),
    "busybox": _form(),
}


def commands_run_by(command: SimpleCommand) -> tuple[SimpleCommand, ...] | Unprovable:
    """`command` first, then everything it runs through wrappers, `find -exec` and shells with static text."""
    found = [command]
    queue = [command]
    while queue:
        inner = _run_directly_by(queue.pop())
        if isinstance(inner, Unprovable):
            return inner
        found.extend(inner)
        queue.extend(inner)
        if len(found) > MAX_WRAPPERS * 10:
            return Unprovable("too many programs run each other")
    return tuple(found)


def unsafe_assignment(command: SimpleCommand) -> str | None:
    """The first variable in front of the program that may change what it does or which program runs."""
    is_safe = is_safe_variable if command.argv else is_local_variable
    return next(
        (name for name, value in command.env if not is_safe(name) or (command.argv and value is None)), None
    )


def _run_directly_by(command: SimpleCommand) -> tuple[SimpleCommand, ...] | Unprovable:
    if not command.argv or command.argv[0] is None:
        return ()
    name = program_name(command.argv[0])
    if name in SHELLS:
        fed = _run_by_fed_shell(command)
        return _run_by_shell(name, command.argv) if fed is None else fed
    if name in {"find", "fd", "fdfind"}:
        return _run_by_find(command.argv)
    form = FORMS.get(name)
    if form is None or (name == "command" and _is_query(command.argv)):
        return ()
    return _run_by_wrapper(name, form, command.argv)


def program_name(word: str) -> str:
    """The last part of a program's path: `/usr/bin/env` is `env`."""
    return word.rsplit("/", 1)[-1]


def _is_query(argv: Words) -> bool:
    return len(argv) > 1 and argv[1] in {"-v", "-V"}


def _run_by_wrapper(name: str, form: WrapperForm, argv: Words) -> tuple[SimpleCommand, ...] | Unprovable:
    start = _end_of_options(form, argv)
    if start is None:
        return Unprovable(f"the options of `{name}` are not understood")
    if any(word is None for word in argv[start : start + form.operands]):
        return Unprovable(f"the words of `{name}` are not static")
    start += form.operands
    env: list[tuple[str, str | None]] = []
    while form.has_assignments and start < len(argv) and "=" in (argv[start] or ""):
        key, _, value = (argv[start] or "").partition("=")
        env.append((key, value))
        start += 1
    rest = argv[start:]
    if not rest:
        return _nothing_inside(name)
    if rest[0] is None or (rest[0].startswith("-") and name != "xargs"):
        return Unprovable(f"what `{name}` runs is not static")
    if name == "xargs":
        rest = _with_unknown_words(argv[1:start], rest)
    if name == "watch":
        return (
            _run_text(" ".join(word or "" for word in rest))
            if None not in rest
            else Unprovable("`watch` runs text")
        )
    return (SimpleCommand(rest, env=tuple(env)),)


def _nothing_inside(name: str) -> tuple[SimpleCommand, ...] | Unprovable:
    if name == "xargs":
        return (SimpleCommand(("echo", None)),)
    if name in {"env", "nice", "command", "builtin", "time", "sudo", "busybox"}:
        return ()
    return Unprovable(f"`{name}` has nothing to run")


def _with_unknown_words(options: Words, rest: Words) -> Words:
    """xargs adds words to the end, or in the place of its replacement string: any word may then be unknown."""
    if any((option or "").startswith(("-I", "--replace")) for option in options):
        return (rest[0], *(None for _ in rest[1:]))
    return (*rest, None)


def _end_of_options(form: WrapperForm, argv: Words) -> int | None:
    """The index of the first word that is not an option, or None when an option is unknown or not static."""
    index = 1
    while index < len(argv):
        word = argv[index]
        if word is None:
            return None
        if not word.startswith("-") or word == "-":
            return index
        if word == "--":
            return index + 1
        taken = _option_width(form, word)
        if taken is None or (taken == 2 and (index + 1 >= len(argv) or argv[index + 1] is None)):
            return None
        index += taken
    return index


def _option_width(form: WrapperForm, word: str) -> int | None:
    """How many words the option takes, or None when it is unknown."""
    if word.startswith("--"):
        name, has_value, _ = word[2:].partition("=")
        if name in form.long_with_value:
            return 1 if has_value else 2
        return 1 if name in form.long_flags and not has_value else None
    if form.has_numeric_flag and word[1:].lstrip("-").isdecimal():
        return 1
    for position, letter in enumerate(word[1:], start=1):
        if letter in form.with_value:
            return 2 if position == len(word) - 1 else 1
        if letter not in form.flags:
            return None
    return 1


def reads_its_program(command: SimpleCommand) -> bool:
    """Whether an interpreter runs what comes to its standard input: by a pipe, a here-document or a here-string."""
    if not command.argv or command.argv[0] is None:
        return False
    name = program_name(command.argv[0])
    is_shell = name in SHELLS
    if not is_shell and not INTERPRETER.fullmatch(name):
        return False
    words = command.argv[1:]
    if {"--version", "--help", "-V"} & set(words):
        return False
    if is_shell and any(word is not None and re.fullmatch(r"-[a-zA-Z]*s[a-zA-Z]*", word) for word in words):
        return True
    operands = tuple(word for word in words if word is None or word == "-" or not word.startswith(("-", "+")))
    return not operands or operands[0] in {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}


def _run_by_fed_shell(command: SimpleCommand) -> tuple[SimpleCommand, ...] | Unprovable | None:
    """What a shell runs that gets its text as a here-string; None when it gets none, or nobody knows the text."""
    texts = [redirect.target for redirect in command.redirects if redirect.operator == "<<<"]
    if not texts or texts[-1] is None or not reads_its_program(command):
        return None
    return _run_text(texts[-1])


def _run_by_shell(name: str, argv: Words) -> tuple[SimpleCommand, ...] | Unprovable:
    """`bash -c 'text'` is read like any text; a script file is opaque, but it is named in the command."""
    for index, word in enumerate(argv[1:], start=1):
        if word is None:
            return Unprovable(f"the words of `{name}` are not static")
        if not word.startswith(("-", "+")):
            return ()
        if word in {"--norc", "--noprofile", "--login", "--"}:
            continue
        if not set(word[1:]) <= set("ceuxl") or word.startswith("--"):
            return Unprovable(f"the options of `{name}` are not understood")
        if "c" in word:
            text = argv[index + 1] if index + 1 < len(argv) else None
            return (
                Unprovable(f"the text that `{name} -c` runs is not static")
                if text is None
                else _run_text(text)
            )
    return ()


def _run_text(text: str) -> tuple[SimpleCommand, ...] | Unprovable:
    reading = read_command(text)
    return reading if isinstance(reading, Unprovable) else reading.acts()


def _run_by_find(argv: Words) -> tuple[SimpleCommand, ...] | Unprovable:
    found: list[SimpleCommand] = []
    index = 1
    while index < len(argv):
        if argv[index] in {"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}:
            end = _end_of_exec(argv, index + 1)
            inner = tuple(None if word is None or "{}" in word else word for word in argv[index + 1 : end])
            if not inner or inner[0] is None:
                return Unprovable("what `find` runs is not static")
            found.append(SimpleCommand(inner))
            index = end
        index += 1
    return tuple(found)


def _end_of_exec(argv: Words, start: int) -> int:
    for index in range(start, len(argv)):
        if argv[index] == ";" or (argv[index] == "+" and argv[index - 1] == "{}"):
            return index
    return len(argv)
