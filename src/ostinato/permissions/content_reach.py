"""Which file contents a command may show besides the files it names: trees searched through, and git's store.

Promise: a superset for the programs that show contents; a deny rule for a file is tried on all of it. What a program
that is not known may open is no part of this: nobody can tell.
"""

import re
from typing import Final

import msgspec

from ostinato.permissions.name_set import names
from ostinato.permissions.option_grammar import parse_command
from ostinato.permissions.read_only import paths_read_by
from ostinato.permissions.read_only_git import SUBCOMMANDS
from ostinato.permissions.read_only_programs import FORMS
from ostinato.permissions.shell_command import SimpleCommand
from ostinato.permissions.wrappers import program_name

SEARCHERS: Final = names("grep egrep fgrep zgrep rg ag ack ugrep")
"""They search a folder and all below it; without a folder, the one they run in."""

COPIERS: Final = names("cp mv ln install rsync scp")
TREE_READERS: Final = SEARCHERS | COPIERS | names("tar zip 7z diff cpio")
SHOWING: Final = TREE_READERS | names(
    "cat tac head tail nl rev fold od xxd hexdump strings base64 base32 paste column sort uniq cut comm cmp sed awk gawk mawk"
    " less more dd gzip zcat bat jq yq tee split"
)
"""Programs that show or copy what is in the files they are given."""

GIT_SHOWING: Final = names(
    "show log diff blame annotate cat-file grep archive stash format-patch whatchanged difftool diff-tree diff-index"
    " diff-files range-diff bundle fast-export worktree checkout-index reflog"
)
GIT_VALUE_OPTIONS: Final = frozenset({
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--super-prefix",
})
GIT_SUMMARIES: Final = names(
    "stat numstat shortstat dirstat summary name-only name-status no-patch compact-summary s quiet"
)
GIT_QUIET_OPTIONS: Final = GIT_SUMMARIES | names(
    "oneline graph decorate no-decorate all branches tags remotes merges no-merges first-parent follow reverse"
    " abbrev-commit no-abbrev-commit date-order topo-order author-date-order left-right cherry-pick cherry-mark"
    " full-history simplify-merges ancestry-path parents children boundary walk-reflogs no-notes pretty format date"
    " regexp-ignore-case extended-regexp fixed-strings perl-regexp all-match invert-grep root relative-date no-walk"
    " max-count since until after before author committer grep skip min-parents max-parents source color no-color"
    " no-renames find-renames find-copies diff-filter cached staged merge-base relative no-ext-diff no-textconv abbrev"
    " stat-width ignore-submodules full-index exit-code n q g i E F number M C z"
)
"""Options of `git log`, `diff` and `show` that print no line of a file."""

OBJECT: Final = re.compile(r":|^[0-9a-fA-F]{4,64}$")
MAX_DEPTH_OF_REPOSITORY: Final = 12


class ContentReach(msgspec.Struct, frozen=True):
    """`trees` are paths as written: they and all below them may be shown. `kept` are such paths in git's store, whatever
    lies there now; `has_history`: any file that the repository ever held. `is_open`: a program that shows contents gets
    words that only running tells."""

    trees: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    has_history: bool = False
    is_open: bool = False


def content_reach(chain: tuple[SimpleCommand, ...]) -> ContentReach:
    """What a command and all that it runs may show."""
    found = tuple(_reach(link) for link in chain)
    return ContentReach(
        tuple(dict.fromkeys(tree for reach in found for tree in reach.trees)),
        tuple(dict.fromkeys(path for reach in found for path in reach.kept)),
        any(reach.has_history for reach in found),
        any(reach.is_open for reach in found),
    )


def _reach(link: SimpleCommand) -> ContentReach:
    if not link.argv or link.argv[0] is None:
        return ContentReach()
    name = program_name(link.argv[0])
    if name == "git":
        return _reach_of_git(link)
    looked_at = paths_read_by(SimpleCommand(link.argv, (), link.env, link.globs))
    if name == "[[":
        return ContentReach(is_open=None in link.argv)
    if looked_at is not None:
        return ContentReach(looked_at or (".",)) if _searches_trees(name, link) else ContentReach()
    if name not in SHOWING:
        return ContentReach()
    words = link.words()[1:]
    named = tuple(word for word in words if word is not None)
    if name in COPIERS and not any(word.startswith(("-t", "--target")) for word in named):
        named = named[:-1]  # what comes last is written
    trees = (*named, ".") if name in SEARCHERS else named
    return ContentReach(trees if name in TREE_READERS else (), is_open=None in words)


def _searches_trees(name: str, link: SimpleCommand) -> bool:
    """Whether a proven command goes below the paths that it names."""
    if name in {"rg", "diff"}:
        return True
    if name not in SEARCHERS:
        return False
    arguments = parse_command(FORMS["grep"], link)
    if arguments is None:
        return True
    return any(
        option in {"r", "recursive"} or (option in {"d", "directories"} and value not in {"skip", "read"})
        for option, value in arguments.options
    )


# -- git


def _reach_of_git(link: SimpleCommand) -> ContentReach:
    words = link.words()[1:]
    index = 0
    while index < len(words) and (word := words[index]) is not None and word.startswith("-"):
        index += 2 if word in GIT_VALUE_OPTIONS else 1
    subcommand = words[index] if index < len(words) else ""
    rest = words[index + 1 :]
    if subcommand is None:
        return ContentReach(has_history=True)
    if subcommand == "status":
        is_verbose = any(word is None or _is_verbose(word) for word in rest)
        return ContentReach(has_history=is_verbose)
    if subcommand not in GIT_SHOWING or not _shows_lines(subcommand, link, rest):
        return ContentReach()
    limited = _named_by_git(subcommand, rest) if index == 0 or words[0] == "--no-pager" else None
    return ContentReach(has_history=True) if limited is None else ContentReach(kept=limited)


def _is_verbose(word: str) -> bool:
    return word.startswith("--v") or (word.startswith("-") and not word.startswith("--") and "v" in word)


def _shows_lines(subcommand: str, link: SimpleCommand, rest: tuple[str | None, ...]) -> bool:
    if subcommand == "cat-file":
        return not {"-t", "-s", "-e"} & set(rest)
    if subcommand in {"stash", "worktree", "bundle", "reflog"}:
        return any(
            word is None or word in {"show", "add", "create"} or word.startswith("-p") for word in rest
        )
    if subcommand not in {"log", "diff", "show"}:
        return True
    arguments = parse_command(
        SUBCOMMANDS[subcommand], SimpleCommand(("git", *rest), (), (), _moved(link, rest))
    )
    if arguments is None or not arguments.option_names() <= GIT_QUIET_OPTIONS:
        return True
    if subcommand == "log":
        return False
    # `git show` prints a file that is named as an object whatever its options say.
    is_object = subcommand == "show" and any(OBJECT.search(operand) for operand in arguments.operands)
    return is_object or not arguments.option_names() & GIT_SUMMARIES


def _moved(link: SimpleCommand, rest: tuple[str | None, ...]) -> tuple[tuple[int, str], ...]:
    """The wildcards of the last words at their places behind `git`."""
    offset = len(link.argv) - len(rest) - 1
    return tuple((index - offset, pattern) for index, pattern in link.globs if index - offset > 0)


def _named_by_git(subcommand: str, rest: tuple[str | None, ...]) -> tuple[str, ...] | None:
    """The only paths whose contents are shown: behind `--`, or in `REVISION:PATH`; None where it may be any."""
    if "--" in rest:
        behind = rest[rest.index("--") + 1 :]
        plain = tuple(
            word for word in behind if word and not word.startswith(":") and not set(word) & set("*?[\\")
        )
        return plain if plain and len(plain) == len(behind) and subcommand != "blame" else None
    operands = tuple(word for word in rest if word is None or not word.startswith("-"))
    if subcommand in {"blame", "annotate"}:
        return None if None in operands else tuple(word for word in operands if word)
    named = tuple(word.partition(":")[2] for word in operands if word is not None and ":" in word[1:])
    if (
        subcommand not in {"show", "cat-file", "diff"}
        or not named
        or len(named) != len(operands)
        or "" in named
    ):
        return None
    # A path in a revision counts from the repository's folder, which may be any folder above.
    above = tuple("../" * depth for depth in range(MAX_DEPTH_OF_REPOSITORY))
    return tuple(f"{folders}{path}" for path in named for folders in above)
