"""`/exit` and `/clear`: the conversation ends, or a new one begins; what was said so far stays on disk."""

from anyio import to_thread

from ostinato.engine.slash.reply import Leave, SlashReply, StartAnew
from ostinato.engine.slash.scene import SlashScene
from ostinato.journal.sessions import list_sessions


async def answer_exit(_scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply("", next_step=Leave())


async def answer_clear(scene: SlashScene, _arguments: str) -> SlashReply:
    is_kept = await to_thread.run_sync(_is_kept, scene)
    rest = f"; the one before can be resumed with `/resume {scene.session_id}`" if is_kept else ""
    return SlashReply(f"a new session{rest}\n", next_step=StartAnew())


def _is_kept(scene: SlashScene) -> bool:
    """Whether the session can be found again: nothing was said in it otherwise, or it is not to be kept. Blocking."""
    listed = list_sessions(scene.places.data_root, scene.workspace.cwd)
    return any(one.session_id == scene.session_id for one in listed)
