"""Which commands go on in the background when their time is over: those of which is known what they run, and that do something
worth waiting for. Half a `git` holds its locks, a `sleep` has no result, and what fills a screen waits for keys that nobody presses.
"""

from typing import Final

from ostinato.engine.configuration import started_with
from ostinato.engine.options import Options
from ostinato.ports import ModelFacts
from ostinato.tools.bash import MayMove, never_moves
from ostinato.tools.task_output import task_output_tool

VARIABLE: Final = "OSTINATO_BACKGROUND_ON_TIMEOUT"
OFF: Final = frozenset({"0", "false", "no", "off"})
WAITING: Final = frozenset({"sleep", "git"})
EDITORS: Final = frozenset([
    "vi",
    "view",
    "ex",
    "vim",
    "vimdiff",
    "vimtutor",
    "rvi",
    "rvim",
    "rview",
    "vim.basic",
    "vim.tiny",
    "vim.nox",
    "vim.gtk3",
    "gvim",
    "gview",
    "gvimdiff",
    "evim",
    "nvim",
    "nvi",
    "emacs",
    "emacs-nox",
    "emacs-gtk",
    "emacsclient",
    "nano",
    "pico",
    "rnano",
    "ed",
    "red",
    "jed",
    "joe",
    "jmacs",
    "jpico",
    "jstar",
    "rjoe",
    "mcedit",
    "micro",
    "hx",
    "helix",
    "kak",
    "ne",
    "mg",
    "zile",
    "tilde",
    "vis",
])
PAGERS: Final = frozenset([
    "less",
    "more",
    "most",
    "lv",
    "pg",
    "zless",
    "zmore",
    "bzless",
    "bzmore",
    "xzless",
    "xzmore",
])
SCREENS: Final = frozenset([
    "watch",
    "top",
    "htop",
    "btop",
    "atop",
    "glances",
    "nmon",
    "iotop",
    "iftop",
    "nethogs",
    "nvtop",
    "powertop",
    "slabtop",
    "bmon",
    "vtop",
    "bashtop",
    "bpytop",
    "mc",
    "ranger",
    "nnn",
    "lf",
    "vifm",
    "ncdu",
    "tig",
    "lazygit",
    "gitui",
    "dialog",
    "whiptail",
    "cmatrix",
])
"""What fills a screen until somebody presses a key."""

ENDED: Final = WAITING | EDITORS | PAGERS | SCREENS


def moving(options: Options, facts: ModelFacts, hidden: frozenset[str]) -> MayMove:
    """What the caller wants, where the model has the tool that reads the output; `hidden` are the tools denied to it."""
    is_wanted = (
        options.background_on_timeout and started_with(options).get(VARIABLE, "").strip().lower() not in OFF
    )
    reader = task_output_tool()
    is_hidden = not hidden.isdisjoint({reader.name, *reader.aliases})
    has_reader = not is_hidden and (not facts.tool_names or reader.name in facts.tool_names)
    return may_move if is_wanted and has_reader else never_moves


def may_move(command: str) -> bool:
    """Whether all that it runs is known, and none of it is better ended."""
    from ostinato.permissions.shell_command import Unprovable  # ruff: ignore[import-outside-top-level] - loads with a first command
    from ostinato.permissions.shell_reader import read_command  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.permissions.wrappers import commands_run_by, program_name  # ruff: ignore[import-outside-top-level] - as above

    reading = read_command(command)
    if isinstance(reading, Unprovable):
        return False
    for one in reading.commands:
        run = commands_run_by(one)
        if isinstance(run, Unprovable):
            return False
        names = [inner.argv[0] for inner in run if inner.argv]
        if any(name is None or program_name(name) in ENDED for name in names):
            return False
    return True
