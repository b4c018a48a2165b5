"""`/resume`: the sessions of this folder, and going on with one of them in the same process."""

from collections.abc import Iterable, Sequence
from typing import Final

from anyio import to_thread

from ostinato.engine.slash.reply import OpenSession, SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.journal.sessions import SessionSummary, find_session, list_sessions

MAX_LISTED: Final = 20
_PROMPT_CHARACTERS: Final = 70


async def answer_resume(scene: SlashScene, arguments: str) -> SlashReply:
    """Numbers count from the newest of the other sessions. Raises UsageError if no session, or more than one, fits."""
    root, cwd = scene.places.data_root, scene.workspace.cwd
    listed = await to_thread.run_sync(list_sessions, root, cwd)
    others = [one for one in listed if one.session_id != scene.session_id]
    if not arguments:
        return SlashReply("".join(_lines(others)))
    if arguments.isdecimal() and len(arguments) < 9 and 1 <= int(arguments) <= len(others):
        return _opened(others[int(arguments) - 1].session_id, OpenSession(others[int(arguments) - 1].path))
    path = await to_thread.run_sync(find_session, root, arguments, cwd)
    if path.stem == scene.session_id:
        return refusal("this session is the one that is open", hint="`/resume` lists the others")
    return _opened(path.stem, OpenSession(path))


def _opened(session_id: str, step: OpenSession) -> SlashReply:
    return SlashReply(f"going on with session {shown_line(session_id, 130)}\n", next_step=step)


def _lines(sessions: Sequence[SessionSummary]) -> Iterable[str]:
    if not sessions:
        yield "there is no other session of this folder\n"
        return
    for number, one in enumerate(sessions[:MAX_LISTED], 1):
        when = one.modified.astimezone().strftime("%Y-%m-%d %H:%M")
        said = shown_line(one.title or one.prompt, _PROMPT_CHARACTERS)
        yield f"{number:3}  {when}  {_size(one.size_bytes):>8}  {one.session_id[:8]}  {said}\n"
    if len(sessions) > MAX_LISTED:
        yield f"     and {len(sessions) - MAX_LISTED} older ones, by their id\n"
    yield "\n`/resume` and a number or an id opens one\n"


def _size(size_bytes: int) -> str:
    return f"{size_bytes:,} B" if size_bytes < 10_000 else f"{size_bytes // 1000:,} kB"
