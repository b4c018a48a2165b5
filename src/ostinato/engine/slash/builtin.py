"""The built-in commands: what each is called and does in a few words, in the order in which `/help` shows them.

Data alone, so that a list of names costs nothing; `registry.py` has what answers.
"""

from typing import Final

import msgspec


class Builtin(msgspec.Struct, frozen=True):
    """`argument_hint` empty: it takes no arguments."""

    name: str
    description: str
    argument_hint: str = ""
    aliases: tuple[str, ...] = ()


BUILTINS: Final[tuple[Builtin, ...]] = (
    Builtin("help", "what you can type here", "[command]"),
    Builtin("clear", "a new session with the same settings; the old one can be resumed"),
    Builtin("resume", "the sessions of this folder, and going on with one", "[number|id]"),
    Builtin(
        "compact",
        "a summary in place of the earlier conversation, now",
        "[--preview] [--up-to MESSAGE|--from MESSAGE] [what to keep]",
    ),
    Builtin(
        "context", "what fills the model's window, what was shortened, and undoing it", "[--json|undo EDIT]"
    ),
    Builtin("cost", "tokens and dollars of this session, by model"),
    Builtin("model", "which model answers, or another one from now on", "[name]"),
    Builtin(
        "permissions",
        'mode, rules and denials; `explain "command"` says what would become of it',
        "[explain command]",
    ),
    Builtin("memory", "which instruction files the model was given, and which not"),
    Builtin("status", "model, folder, session, mode, trust, settings"),
    Builtin("config", "the settings in force and where each comes from"),
    Builtin("export", "the conversation as Markdown, shown or written to a new file", "[file]"),
    Builtin("exit", "leave", aliases=("quit",)),
)


def builtin_named(name: str) -> Builtin | None:
    """Built-in names are not case-sensitive, and win over any file's."""
    folded = name.casefold()
    return next((one for one in BUILTINS if folded == one.name or folded in one.aliases), None)
