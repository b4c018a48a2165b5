"""Commands that are proven to only read: a table of programs with the options under which they write and run nothing.

Promise: an unknown program, option or non-static word is not read-only. What remains: `git` runs programs that the
repository's or the user's configuration names (`core.fsmonitor`, `diff.*.textconv`, `diff.external`, clean
filters); `.git/config` is a protected path, and whoever starts these commands should set `core.fsmonitor=false`
and `safe.bareRepository=explicit` in their environment. A program is trusted to be the one its name says.
"""

from ostinato.permissions.option_grammar import Arguments, parse_command
from ostinato.permissions.read_only_git import is_read_only_git
from ostinato.permissions.read_only_programs import FORMS
from ostinato.permissions.shell_command import Redirect, SimpleCommand, Unprovable
from ostinato.permissions.shell_condition import FILE_COMPARISONS, FILE_TESTS
from ostinato.permissions.shell_reader import read_command
from ostinato.permissions.wrappers import commands_run_by, unsafe_assignment

Paths = tuple[str, ...]
WRAPPERS = frozenset({"timeout", "time", "nice", "stdbuf", "command", "builtin", "xargs"})
HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
"""Redirections to these write no file."""
FIND_TESTS = frozenset(
    {
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-regextype",
        "-type",
        "-maxdepth",
    }
    | {
        "-mindepth",
        "-size",
        "-mtime",
        "-mmin",
        "-atime",
        "-ctime",
        "-amin",
        "-cmin",
        "-user",
        "-group",
        "-perm",
    }
)
"""Words of `find` that take one value and only test; `-printf` is out because its cousins write files."""
FIND_WORDS = frozenset(
    {
        "-print",
        "-print0",
        "-prune",
        "-not",
        "!",
        "-a",
        "-and",
        "-o",
        "-or",
        "(",
        ")",
        "-empty",
        "-ls",
        "-quit",
    }
    | {
        "-true",
        "-false",
        "-xdev",
        "-mount",
        "-depth",
        "-d",
        ",",
        "-executable",
        "-readable",
        "-writable",
        "-nouser",
    }
)


def is_read_only_shell(text: str) -> bool:
    """Whether every command that `text` could run is proven to only read."""
    reading = read_command(text)
    if isinstance(reading, Unprovable):
        return False
    return bool(reading.acts()) and all(map(is_read_only_command, reading.acts()))


def is_read_only_command(command: SimpleCommand) -> bool:
    """Whether this command, and what it runs through a wrapper, is proven to only read."""
    return paths_read_by(command) is not None


def paths_read_by(command: SimpleCommand) -> Paths | None:
    """The paths (as written, wildcards included) that a read-only command looks at; None when it is not proven."""
    chain = commands_run_by(command)
    if isinstance(chain, Unprovable):
        return None
    found: list[str] = []
    for index, link in enumerate(chain):
        paths = _paths_of_link(link, is_last=index == len(chain) - 1)
        if paths is None:
            return None
        found.extend(paths)
    return tuple(found)


def is_descriptor_copy(redirect: Redirect) -> bool:
    """Whether it only copies or closes a descriptor, as `2>&1` does."""
    target = redirect.target
    return (
        redirect.operator in {">&", "<&"}
        and target is not None
        and target.rstrip("-").isdecimal() | (target == "-")
    )


def _paths_of_link(command: SimpleCommand, *, is_last: bool) -> Paths | None:
    redirected = _paths_of_redirects(command.redirects)
    if redirected is None or unsafe_assignment(command) is not None:
        return None
    if not command.argv:
        return redirected
    name = command.argv[0]
    if not is_last:
        return redirected if name in WRAPPERS else None
    paths = None if name is None else _paths_of_program(name, command)
    return None if paths is None else redirected + paths


def _paths_of_redirects(redirects: tuple[Redirect, ...]) -> Paths | None:
    found: list[str] = []
    for redirect in redirects:
        if (
            redirect.operator in {"<<", "<<-", "<<<"}
            or is_descriptor_copy(redirect)
            or redirect.target in HARMLESS_TARGETS
        ):
            continue
        if redirect.operator != "<" or redirect.target is None:
            return None
        found.append(redirect.target)
    return tuple(found)


def _paths_of_program(name: str, command: SimpleCommand) -> Paths | None:
    match name:
        case "git":
            return () if is_read_only_git(command) else None
        case "find":
            return _paths_of_find(command)
        case "test" | "[" | "[[":
            return _paths_of_test(name, command)
        case "echo":
            return ()
        case "printf":
            return () if len(command.argv) > 1 and not (command.argv[1] or "-").startswith("-") else None
        case "date":
            arguments = parse_command(FORMS["date"], command)
            return () if arguments and all(word.startswith("+") for word in arguments.operands) else None
        case "command":
            return () if len(command.argv) > 2 and command.argv[1] in {"-v", "-V"} else None
        case _:
            return _paths_of_form(name, command)


def _paths_of_form(name: str, command: SimpleCommand) -> Paths | None:
    form = FORMS.get(name)
    arguments = None if form is None else parse_command(form, command)
    if form is None or arguments is None:
        return None
    match form.operands:
        case "none":
            return () if not arguments.operands else None
        case "text":
            return ()
        case "paths":
            return arguments.operands
        case "pattern_then_paths":
            return _behind_pattern(arguments, form.pattern_options)


def _behind_pattern(arguments: Arguments, pattern_options: frozenset[str]) -> Paths:
    has_pattern = bool(arguments.option_names() & pattern_options)
    return arguments.operands if has_pattern else arguments.operands[1:]


def _paths_of_test(name: str, command: SimpleCommand) -> Paths | None:
    """The files it asks about: what it says of them is read. `[[` evaluates nothing, whatever its unknown words are."""
    if name != "[[" and (None in command.argv or {"-v", "-R"} & set(command.argv)):
        return None
    words = command.argv[1:]
    found: list[str] = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        if word in FILE_TESTS and before not in FILE_COMPARISONS:
            asked = words[index + 1 : index + 2]
        elif word in FILE_COMPARISONS:
            asked = words[max(0, index - 1) : index] + words[index + 1 : index + 2]
        else:
            continue
        found += [path for path in asked if path is not None]
    return tuple(found)


def _paths_of_find(command: SimpleCommand) -> Paths | None:
    words = command.words()[1:]
    globs = {index - 1 for index, _ in command.globs}
    index = 0
    while index < len(words) and words[index] in {"-P", "-H"}:
        index += 1
    starts: list[str] = []
    while index < len(words) and (word := words[index]) is not None and not word.startswith(("-", "(", "!")):
        if word[:1] in {"*", "?", "["}:
            return None
        starts.append(word)
        index += 1
    while index < len(words):
        word = words[index]
        if (
            word in FIND_TESTS
            and index + 1 < len(words)
            and words[index + 1] is not None
            and index + 1 not in globs
        ):
            index += 2
        elif word in FIND_WORDS and index not in globs:
            index += 1
        else:
            return None
    return tuple(starts)
