"""Shell builtins that change what later words mean, or evaluate text: after them nothing can be proven.

Also the names of variables: which ones may be set without changing what a program does or which program runs.
"""

import re

from ostinato.permissions.name_set import names
from ostinato.permissions.shell_word import Word

EVALUATING = names(
    "eval source . trap alias unalias shopt enable hash bind complete compgen compopt let fc history"
    " mapfile readarray coproc function select caller exec"
)
DECLARING = names("export declare typeset local readonly")
NAMING = names("read unset getopts wait")
"""Builtins whose operands are variable names; a subscript in one is evaluated."""
SET_OPTIONS = re.compile(r"[-+][euxv]+o?|[-+]o|errexit|nounset|xtrace|verbose|pipefail")

SAFE_VARIABLES = names(
    "CI NODE_ENV TZ LANG LANGUAGE NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES TERM DEBUG VERBOSE"
    " RUST_BACKTRACE RUST_LOG GOOS GOARCH CGO_ENABLED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED"
)
"""Prefix assignments that a rule or a read-only proof may look past: they only change output and verbosity."""
DANGEROUS_LOWER = re.compile(r"npm_config_.*|.*_proxy", re.ASCII)
LOCAL_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


def is_safe_variable(name: str) -> bool:
    """Whether `NAME=value program` runs the same program doing the same thing."""
    return name in SAFE_VARIABLES or re.fullmatch(r"LC_[A-Z]+", name, re.ASCII) is not None


def is_local_variable(name: str) -> bool:
    """Whether a bare `name=value` is, by its lower-case form, a variable of the text itself and not a setting."""
    is_setting = DANGEROUS_LOWER.fullmatch(name) is not None
    return is_safe_variable(name) or (LOCAL_NAME.fullmatch(name) is not None and not is_setting)


def refusal_of(argv: tuple[str | None, ...], words: tuple[Word, ...]) -> str | None:
    """Why nothing can be proven once this command has run, or None. `words` are the words that made `argv`."""
    start = _behind_precommands(argv)
    name, operands = (argv[start], argv[start + 1 :]) if start < len(argv) else ("", ())
    if name in EVALUATING:
        return f"`{name}` changes or evaluates what follows"
    if name in DECLARING:
        return _refusal_of_declaration(name, words)
    if name == "set" and not all(operand and SET_OPTIONS.fullmatch(operand) for operand in operands):
        return "`set` with these words changes how the rest is read"
    if name in NAMING and any(operand is None or "[" in operand for operand in operands):
        return f"`{name}` would evaluate a name that is not plain"
    if name in NAMING and any(_is_setting(operand) for operand in operands):
        return f"`{name}` changes a variable that steers the shell"
    if name == "printf" and operands and (operands[0] is None or operands[0].startswith("-v")):
        return "`printf` may set a variable"
    return _refusal_of_test(name, operands)


def _behind_precommands(argv: tuple[str | None, ...]) -> int:
    index = 0
    while index < len(argv) and argv[index] in {"command", "builtin"}:
        index += 1
        while index < len(argv) and (argv[index] or "").startswith("-"):
            index += 1
    return index


def _is_setting(operand: str | None) -> bool:
    is_name = operand is not None and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", operand, re.ASCII) is not None
    return is_name and not is_local_variable(operand or "")


def _refusal_of_declaration(name: str, words: tuple[Word, ...]) -> str | None:
    for word in words[1:]:
        assignment, plain = word.assignment(), word.plain()
        if assignment is not None and is_local_or_upper(assignment[0]):
            continue
        if assignment is not None or plain is None or "[" in plain or not re.fullmatch(r"[-+]?\w+", plain):
            return f"`{name}` changes a variable that steers the shell, or one that is not plain"
        if plain.startswith(("-", "+")) and set(plain) & set("niaAf"):
            return f"`{name} {plain}` changes how the variable is evaluated"
    return None


def is_local_or_upper(name: str) -> bool:
    """Names that `export` may set: not the ones that choose programs, options or the shell's own ways."""
    return is_local_variable(name) or not STEERING.match(name)


STEERING = re.compile(
    r"(PATH|CDPATH|IFS|ENV|BASH.*|PS[0-9]|PROMPT_COMMAND|SHELL.*|GLOBIGNORE|HOME|PWD|OLDPWD|LD_.*|DYLD_.*|GIT_.*"
    r"|PYTHON.*|PERL.*|RUBY.*|NODE_.*|NPM_.*|PAGER|.*_PAGER|EDITOR|VISUAL|BROWSER|LESS.*|MANPAGER|RIPGREP_.*|XDG_.*"
    r"|.*_proxy|.*_PROXY|SSH_.*|GCONV_PATH|MALLOC_.*|JAVA_.*|_JAVA_.*|OPENSSL_.*|npm_config_.*|OSTINATO_.*|CLAUDE_.*"
    r"|RUSTC.*|CARGO_.*|MAKE.*|GREP_.*|TAR_OPTIONS|GZIP|CC|CXX|POSIX.*|FIGNORE|HIST.*|FUNCNEST|EXECIGNORE)$",
    re.ASCII,
)


def _refusal_of_test(name: str | None, operands: tuple[str | None, ...]) -> str | None:
    if name not in {"test", "["}:
        return None
    for index, operand in enumerate(operands):
        following = operands[index + 1] if index + 1 < len(operands) else ""
        if operand in {"-v", "-R"} and (following is None or "[" in following):
            return f"`{name} {operand}` would evaluate a subscript"
    return None
