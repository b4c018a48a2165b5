"""`/exit` and `/clear`: the conversation ends, or a new one begins; what was said so far stays on disk."""

from ostinato.engine.slash.reply import Leave, SlashReply, StartAnew
from ostinato.engine.slash.scene import SlashScene


async def answer_exit(_scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply("", next_step=Leave())


async def answer_clear(scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply(
        f"a new session; the one before can be resumed with `/resume {scene.session_id}`\n",
        next_step=StartAnew(),
    )
