"""`/resume`: the sessions of this folder, and going on with one of them in the same process."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from ostinato.engine.slash.reply import OpenSession, SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.journal.sessions import SessionSummary, find_session, list_sessions

MAX_LISTED: Final = 20
_PROMPT_CHARACTERS: Final = 70
_MAX_DIGITS: Final = 3
_NO_OTHER: Final = "there is no other session of this folder"


async def answer_resume(scene: SlashScene, arguments: str) -> SlashReply:
    """Numbers count from the newest of the other sessions; a longer row of digits is the beginning of an id.

    Raises UsageError if no session, or more than one, fits.
    """
    root, cwd = scene.places.data_root, scene.workspace.cwd
    listed = await to_thread.run_sync(list_sessions, root, cwd)
    others = [one for one in listed if one.session_id != scene.session_id]
    if not arguments:
        return SlashReply("".join(_lines(others)))
    if arguments.isdecimal() and len(arguments) <= _MAX_DIGITS:
        return _numbered(int(arguments), others)
    path = await to_thread.run_sync(find_session, root, arguments, cwd)
    if path.stem == scene.session_id:
        return refusal("this session is the one that is open", hint="`/resume` lists the others")
    said = next((_about(one) for one in others if one.path == path), "")
    return _opened(path, said)


def _numbered(number: int, others: Sequence[SessionSummary]) -> SlashReply:
    if 1 <= number <= len(others):
        chosen = others[number - 1]
        return _opened(chosen.path, _about(chosen))
    if not others:
        return refusal(f"there is no session number {number}", hint=_NO_OTHER)
    newest = f"{others[0].session_id[:8]} ({_about(others[0])})"
    hint = f"the numbers go from 1 to {len(others):,}; 1 is {newest}; `/resume` lists them"
    if len(others) == 1:
        hint = f"there is one other session of this folder, {newest}: `/resume 1` opens it"
    return refusal(f"there is no session number {number}", hint=hint)


def _opened(path: Path, said: str) -> SlashReply:
    about = f": {said}" if said else ""
    return SlashReply(
        f"going on with session {shown_line(path.stem, 130)}{about}\n", next_step=OpenSession(path)
    )


def _about(session: SessionSummary) -> str:
    return shown_line(session.title or session.prompt, _PROMPT_CHARACTERS)


def _lines(sessions: Sequence[SessionSummary]) -> Iterable[str]:
    if not sessions:
        yield f"{_NO_OTHER}\n"
        return
    for number, one in enumerate(sessions[:MAX_LISTED], 1):
        when = one.modified.astimezone().strftime("%Y-%m-%d %H:%M")
        yield f"{number:3}  {when}  {_size(one.size_bytes):>8}  {one.session_id[:8]}  {_about(one)}\n"
    if len(sessions) > MAX_LISTED:
        yield f"     and {len(sessions) - MAX_LISTED} older ones, by their id\n"
    yield "\n`/resume` and a number or an id opens one\n"


def _size(size_bytes: int) -> str:
    return f"{size_bytes:,} B" if size_bytes < 10_000 else f"{size_bytes // 1000:,} kB"
