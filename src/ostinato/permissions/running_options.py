"""Words by which a program that a rule names does what the rule does not show: options that run or load other programs, or delete.

Promise: a rule with a wildcard does not cover them unless it spells them out; a word that only running tells may be one.
"""

import re
from collections.abc import Mapping
from typing import Final

from ostinato.permissions.name_set import names
from ostinato.permissions.option_words import Options, Words, found_options, git_parts, operands
from ostinato.permissions.shell_command import SimpleCommand
from ostinato.permissions.wrappers import program_name
from ostinato.permissions.writing_options import WRITING

RUNNING: Final[Mapping[str, Options]] = {
    "sort": Options(long=names("compress-program")),
    "find": Options(words=names("-delete")),
    "fd": Options(long=names("exec exec-batch"), valued="deEtSoc"),
    "rg": Options(long=names("pre hostname-bin")),
    "ag": Options(long=names("pager")),
    "ack": Options(long=names("pager ackrc")),
    "bat": Options(long=names("pager"), others=names("p")),
    "man": Options("PHC", names("pager html config-file")),
    "less": Options("k", names("lesskey-file lesskey-src lesskey-content")),
    "file": Options("C", names("compile")),
    "curl": Options("OJK", names("config remote-name remote-name-all remote-header-name"), "AbcCdDeEFHmoPQrtTuUwxXyYz"),
    "wget": Options("e", names("execute use-askpass config"), "OoaPiBtTwQlADIRUX"),
    "tar": Options(
        "IFP",
        names("checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command absolute-names"),
        "fbCKLNTVXgH",
    ),
    "date": Options("s", names("set"), "df"),
    "hostname": Options("Fb", names("file boot")),
    "split": Options(long=names("filter")),
    "rsync": Options("e", names("rsh rsync-path")),
    "yq": Options("s", names("split-exp")),
    "awk": Options("filE", names("file include load exec")),
    "make": Options("fE", names("file makefile eval"), "CIjlW"),
    "just": Options("f", names("justfile shell shell-arg")),
    "go": Options(words=names("-exec -toolexec -vettool --exec --toolexec --vettool")),
    "cargo": Options(long=names("config")),
    **dict.fromkeys(names("npm pnpm yarn"), Options(long=names("script-shell node-options userconfig"))),
}  # fmt: skip
ALIASES: Final = {
    "fdfind": "fd",
    "batcat": "bat",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "gmake": "make",
    "bsdtar": "tar",
}
BUILDERS: Final = names("make just go cargo npm pnpm yarn docker")
"""What their words mean is up to the project: whoever allows them with any words allows that."""

_GIT: Final = Options(long=names("ext-diff textconv upload-pack receive-pack extcmd"), others=names("text"))
_GIT_EXEC: Final = Options("x", names("exec extcmd"), "sSXC")
_GIT_LISTING: Final = names(
    "log show diff shortlog format-patch archive whatchanged diff-tree diff-index diff-files grep difftool rebase bundle fetch pull"
)
"""The subcommands of git that have options which write or run."""

PLAIN_SED: Final = re.compile(
    r"\s*(?:(?:[0-9$]+|/[^/]*/)(?:,(?:[0-9$]+|/[^/]*/))?)?\s*(?:[pdqDPGHhgxn=]|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\[^\n])*/[gpiI0-9]*)\s*"
)
AWK_SIGNS: Final = re.compile(r"system|getline|[|>@]")


def unshown_words(command: SimpleCommand) -> Words:
    """The words of one command that a rule must spell out to cover; None among them is a word that only running tells."""
    if not command.argv or command.argv[0] is None:
        return ()
    called = program_name(command.argv[0])
    name, words = ALIASES.get(called, called), command.words()[1:]
    if name == "git":
        return _unshown_by_git(words)
    if name == "tar" and words and words[0] is not None:
        words = (f"-{words[0].removeprefix('-')}" if not words[0].startswith("--") else words[0], *words[1:])
    options = RUNNING.get(name)
    found = () if options is None else tuple(word for word, _ in found_options(options, words))
    if name == "fd":
        found = tuple(word for word in found if word not in {"--exec", "--exec-batch"})  # read as wrappers
    is_listed = (
        options is not None or name in WRITING or name in {"sed", "uniq", "xxd", "dd", "tee"}
    ) and name not in BUILDERS
    return (*found, *_unshown_operands(name, words), *(_unknown(words) if is_listed else ()))


def _unknown(words: Words) -> Words:
    """What may become an option when it runs; file names by a pattern that begins with a name do not."""
    before = words[: words.index("--")] if "--" in words else words
    return tuple(None for word in before if word is None or word[:1] in {"*", "?", "["})


def _unshown_by_git(words: Words) -> Words:
    _, subcommand, behind = git_parts(words)
    found = [word for word, _ in found_options(_GIT, behind)]
    if subcommand in {"rebase", "difftool", "ls-remote", "archive"}:
        found += [word for word, _ in found_options(_GIT_EXEC, behind)]
    if subcommand == "grep":
        pager = Options("O", names("open-files-in-pager"), "efABCm")
        found += [word for word, _ in found_options(pager, behind)]
    if subcommand in {"bisect", "submodule"}:
        found += [word for word in behind[:2] if word in {"run", "foreach"}]
    unknown = _unknown(behind) if subcommand in _GIT_LISTING else ()
    return (*found, *unknown)


def _unshown_operands(name: str, words: Words) -> Words:
    match name:
        case "date":
            return tuple(word for word in operands(words)[-1:] if word and re.fullmatch(r"[0-9.]{8,}", word))
        case "hostname":
            return operands(words)
        case "less":
            return tuple(word for word in words if word is not None and word.startswith("+"))
        case "curl":
            return tuple(word for word in words if word is not None and "%output{" in word)
        case "make":
            return tuple(
                word for word in words if word is not None and re.match(r"\.?(SHELL|MAKE)\w*[:+?]*=", word)
            )
        case "awk":
            return tuple(word for word in words if word is not None and AWK_SIGNS.search(word))
        case "sed":
            return _unshown_by_sed(words)
        case _:
            return ()


def _unshown_by_sed(words: Words) -> Words:
    scripts = Options("ef", names("expression file"), "il")
    given = tuple(found_options(scripts, words))
    if not given:
        given = tuple((word or "", word) for word in operands(words)[:1])
    return tuple(
        word
        for word, script in given
        if script is None or not all(map(PLAIN_SED.fullmatch, script.split(";")))
    )
