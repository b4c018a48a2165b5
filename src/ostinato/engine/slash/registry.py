"""All built-in commands, in the order in which `/help` shows them. A new one is a new file and a line here."""

from typing import Final

from ostinato.engine.slash.builtin import Builtin
from ostinato.engine.slash.config import answer_config
from ostinato.engine.slash.cost import answer_cost
from ostinato.engine.slash.export import answer_export
from ostinato.engine.slash.help import answer_help
from ostinato.engine.slash.leave import answer_clear, answer_exit
from ostinato.engine.slash.memory import answer_memory
from ostinato.engine.slash.model import answer_model
from ostinato.engine.slash.permissions import answer_permissions
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.resume import answer_resume
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.status import answer_status


async def _answer_help(scene: SlashScene, arguments: str) -> SlashReply:
    return await answer_help(scene, arguments, BUILTINS)


BUILTINS: Final[tuple[Builtin, ...]] = (
    Builtin("help", "what you can type here", _answer_help, "[command]"),
    Builtin("clear", "a new session with the same settings; the old one can be resumed", answer_clear),
    Builtin("resume", "the sessions of this folder, and going on with one", answer_resume, "[number|id]"),
    Builtin("cost", "tokens and dollars of this session, by model", answer_cost),
    Builtin("model", "which model answers, or another one from now on", answer_model, "[name]"),
    Builtin(
        "permissions",
        'mode, rules and denials; `explain "command"` says what would become of it',
        answer_permissions,
        "[explain command]",
    ),
    Builtin("memory", "which instruction files the model was given, and which not", answer_memory),
    Builtin("status", "model, folder, session, mode, trust, settings", answer_status),
    Builtin("config", "the settings in force and where each comes from", answer_config),
    Builtin(
        "export", "the conversation as Markdown, shown or written to a new file", answer_export, "[file]"
    ),
    Builtin("exit", "leave", answer_exit, aliases=("quit",)),
)


def builtin_named(name: str) -> Builtin | None:
    """Built-in names are not case-sensitive, and win over any file's."""
    folded = name.casefold()
    return next((one for one in BUILTINS if folded == one.name or folded in one.aliases), None)
