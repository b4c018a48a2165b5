"""Who answers which built-in command. A new one is a new file, a line here, and one in `builtin.py`."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from ostinato.engine.slash.compact import answer_compact
from ostinato.engine.slash.config import answer_config
from ostinato.engine.slash.context import answer_context
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

Answer: TypeAlias = Callable[[SlashScene, str], Awaitable[SlashReply]]
"""From the scene and the arguments to what the program says. Raises OstinatoError for what cannot be done."""

ANSWERS: Final[Mapping[str, Answer]] = {
    "help": answer_help,
    "clear": answer_clear,
    "resume": answer_resume,
    "compact": answer_compact,
    "context": answer_context,
    "cost": answer_cost,
    "model": answer_model,
    "permissions": answer_permissions,
    "memory": answer_memory,
    "status": answer_status,
    "config": answer_config,
    "export": answer_export,
    "exit": answer_exit,
}
