"""`/export`: the conversation as Markdown, into a new file or as the answer itself. A file that is there stays as it is."""

import os
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.engine.slash.conversation_text import conversation_markdown
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line, shown_path
from ostinato.home_folder import expand_home
from ostinato.permissions.decision import decide
from ostinato.permissions.typed_call import typed_call
from ostinato.permissions.verdict import Deny

_MODE: Final = 0o600
"""What was said and read may be private."""

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class _NotWritten(msgspec.Struct, frozen=True):
    reason: str
    hint: str


async def answer_export(scene: SlashScene, arguments: str) -> SlashReply:
    """Raises UsageError for what no file can be called."""
    text = await to_thread.run_sync(conversation_markdown, await scene.whole_history(), scene.session_id)
    if arguments in {"", "-"}:
        return SlashReply(text, is_kept=False)
    path = _place(scene, arguments.strip("\"'"))
    forbidden = _forbidden(scene, path)
    if forbidden:
        return refusal(f"`{shown_path(path)}` may not be written: {forbidden}", hint="name another file")
    problem = await to_thread.run_sync(_write, path, text.encode("utf-8", "replace"))
    if problem is not None:
        return refusal(f"`{shown_path(path)}` {problem.reason}; nothing was written", hint=problem.hint)
    return SlashReply(f"wrote {len(text):,} characters to {shown_path(path)}\n")


def _place(scene: SlashScene, name: str) -> Path:
    """The folder as it really is, the name as it was typed: a link of that name is there already, wherever it leads."""
    scene.workspace.resolve(name)  # refuses what can be no path
    path = scene.workspace.cwd / expand_home(name, scene.places.home)
    return scene.workspace.resolve(str(path.parent)) / path.name


def _forbidden(scene: SlashScene, path: Path) -> str:
    """Why the rules, or the protection of settings and hooks, forbid it; a person's wish needs no other permission."""
    cwd, roots = scene.workspace.cwd, scene.workspace.roots
    call = typed_call("Write", str(path), cwd=cwd, roots=roots, home=scene.places.home)
    verdict = decide(call, scene.policy)
    is_denied = isinstance(verdict, Deny) and verdict.reason.kind == "rule"
    if is_denied or verdict.reason.kind == "protected_path":
        return shown_line(verdict.reason.text, 300)
    return ""


def _write(path: Path, data: bytes) -> _NotWritten | None:
    """A new file or none at all: one that could not be written whole is taken away again."""
    try:
        descriptor = os.open(path, _FLAGS, _MODE)
    except FileExistsError:
        return _NotWritten("is there already", "name a file that is not there, or remove this one first")
    except FileNotFoundError:
        return _NotWritten("lies in a folder that does not exist", "make the folder first")
    except OSError as error:
        return _NotWritten(f"cannot be written: {error.strerror}", "name another file")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        os.unlink(path)
        return _NotWritten(f"cannot be written: {error.strerror}", "name another file")
    return None
