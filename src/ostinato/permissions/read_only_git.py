"""Which `git` lines only read: a few subcommands, each with the options under which it writes and runs nothing.

Global options in front of the subcommand are refused but `--no-pager` and `--no-optional-locks`: `-c`, `-C`,
`--git-dir` and `--exec-path` choose other configuration, hence other programs.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from ostinato.permissions.name_set import names
from ostinato.permissions.option_grammar import Arguments, Form, parse_arguments
from ostinato.permissions.shell_command import SimpleCommand

GLOBAL_OPTIONS = frozenset({"--no-pager", "--no-optional-locks", "-P"})
_DIFF_LONG = names(
    "stat numstat shortstat dirstat summary name-only name-status patch no-patch patch-with-stat raw color no-color word-diff"
    " color-words no-renames check full-index binary abbrev cached staged merge-base ignore-space-change"
    " ignore-all-space ignore-blank-lines ignore-space-at-eol ignore-cr-at-eol function-context exit-code quiet text"
    " no-ext-diff no-textconv minimal patience histogram find-renames find-copies no-prefix unified compact-summary"
    " submodule ignore-submodules diff-filter cc no-index-info pickaxe-all pickaxe-regex relative reverse"
)
_DIFF_VALUES = names("diff-algorithm inter-hunk-context word-diff-regex stat-width")
_LOG_LONG = names(
    "oneline graph decorate no-decorate all branches tags remotes merges no-merges first-parent follow reverse"
    " abbrev-commit no-abbrev-commit date-order topo-order author-date-order left-right cherry-pick cherry-mark"
    " full-history simplify-merges ancestry-path parents children boundary walk-reflogs no-notes pretty format date"
    " regexp-ignore-case extended-regexp fixed-strings perl-regexp all-match invert-grep root relative-date no-walk"
    " max-count since until after before author committer grep skip min-parents max-parents source name-only"
)
_DIFF = Form("pusRbwaWzqBMCD", "UGSl", _DIFF_LONG, _DIFF_VALUES, has_numeric=True)
_LOG = Form("pusRbwaWzqgicEFMBCmt", "UGSnL", _DIFF_LONG | _LOG_LONG, _DIFF_VALUES, has_numeric=True)
_LIST = Form(
    "alrvq",
    "",
    names(
        "list all remotes verbose show-current color no-color ignore-case format abbrev no-abbrev sort column no-column"
    ),
    names("contains no-contains merged no-merged points-at"),
)

SUBCOMMANDS: Mapping[str, Form] = MappingProxyType({
    "status": Form(
        "sbuvz",
        "",
        names(
            "short branch show-stash porcelain long verbose untracked-files ignore-submodules ignored column"
            " no-column ahead-behind no-ahead-behind renames no-renames find-renames"
        ),
    ),
    "diff": _DIFF,
    "log": _LOG,
    "show": _LOG,
    "branch": _LIST,
    "tag": replace(_LIST, short="ln", max_operands=100),
    "remote": Form("v", "", names("verbose"), max_operands=0),
    "rev-parse": Form(
        "q",
        "",
        names(
            "abbrev-ref short verify quiet show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree"
            " is-inside-git-dir is-bare-repository is-shallow-repository symbolic symbolic-full-name all branches tags"
            " remotes absolute-git-dir show-object-format"
        ),
    ),
    "ls-files": Form(
        "cdmosiktuvz",
        "x",
        names(
            "cached deleted modified others ignored stage killed unmerged exclude-standard full-name error-unmatch"
            " directory no-empty-directory eol deduplicate abbrev"
        ),
        names("exclude"),
    ),
    "ls-tree": Form("drtlz", "", names("long name-only name-status object-only full-name full-tree abbrev format")),
    "blame": Form(
        "clmstefnpwMC",
        "L",
        names("line-porcelain porcelain show-email show-name show-number incremental root since date abbrev color-lines"),
    ),
    "shortlog": Form("nsec", "", names("numbered summary email all no-merges merges since until")),
    "describe": Form("", "", names("tags all always dirty long abbrev exact-match match first-parent contains")),
    "rev-list": replace(_LOG, long=_LOG_LONG | names("count objects")),
    "merge-base": Form("a", "", names("all octopus is-ancestor independent fork-point")),
    "cat-file": Form("tspe", max_operands=2),
    "name-rev": Form("", "", names("name-only tags always")),
    "reflog": Form("", "", frozenset(), max_operands=0),
    "count-objects": Form("vH", "", names("verbose human-readable"), max_operands=0),
})  # fmt: skip
LISTING = frozenset({"list", "l", "contains", "no-contains", "merged", "no-merged", "points-at"})


def is_read_only_git(command: SimpleCommand) -> bool:
    """Whether this `git …` line is proven to only read; wildcards and non-static words are not proven."""
    words = command.argv[1:]
    while words and words[0] in GLOBAL_OPTIONS:
        words = words[1:]
    if not words or words[0] is None:
        return False
    subcommand = words[0]
    form = SUBCOMMANDS.get(subcommand)
    if form is None:
        return subcommand in {"--version", "version"} and len(words) == 1
    arguments = parse_arguments(form, words[1:], frozenset())
    # `git diff` leaves the repository when a path does.
    if arguments is None or any(_leaves(operand) for operand in arguments.operands):
        return False
    return not _creates(subcommand, arguments) and not _runs_a_program(arguments)


def _creates(subcommand: str, arguments: Arguments) -> bool:
    """`git branch x` and `git tag x` create; with a listing option the operands are patterns."""
    if subcommand not in {"branch", "tag"}:
        return False
    return bool(arguments.operands) and not arguments.option_names() & LISTING


def _runs_a_program(arguments: Arguments) -> bool:
    # `%G?` in a format asks the signature program.
    return any("%G" in (value or "") for _, value in arguments.options)


def _leaves(operand: str) -> bool:
    return operand.startswith(("/", "~")) or ".." in operand.split("/")
