"""Files, folders and images that the user names with `@` come with the prompt, as far as the permissions allow.

What names no existing file is no mention; where it was meant as one, the user is told. A file that the model has whole and unchanged gets one line, not its content.
"""

import errno
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.attachments.file_text import why
from ostinato.attachments.mention_misses import missed_name
from ostinato.attachments.mention_syntax import Mention, mentions
from ostinato.attachments.mentioned_content import (
    MAX_FILE_BYTES,
    Content,
    file_content,
    folder_content,
    withheld,
)
from ostinato.attachments.quoted_text import shown_name
from ostinato.attachments.told import path_key
from ostinato.attachments.touched_files import MENTION, SHOWING_TOOLS, touched_paths
from ostinato.errors import UsageError
from ostinato.messages import AttachedImage, KnownFile, Message, Reminder, attachment_message, notice_message
from ostinato.ports import FileState, Ids, SeenFile, Workspace

MAX_MENTIONS: Final = 20
"""Files and folders of one prompt whose content comes along; the others are named."""

MAX_MISSED: Final = 3
"""Names of files that there are not, in one notice."""

TOO_MUCH: Final = "It is not shown, because the prompt names so much; Read it if you need it."

MAX_TOTAL_CHARACTERS: Final = 400_000
"""Of all texts of one prompt."""


class MentionSetting(msgspec.Struct, frozen=True):
    """What mentions are looked up with. `may_read` gets a resolved path and answers from the permission rules."""

    workspace: Workspace
    files: FileState
    ids: Ids
    may_read: Callable[[Path], bool]
    takes_images: bool = False


async def mention_attachments(
    prompt: str, view: Sequence[Message], setting: MentionSetting
) -> Sequence[Message]:
    """What to put right after the prompt, with a notice for the user about each file that does not come along. `view` is the
    conversation so far; shown files count as seen.
    """
    found, missed = await to_thread.run_sync(_existing, prompt, setting.workspace, abandon_on_cancel=True)
    known = _in_view(view, setting.workspace) if found else frozenset[Path]()
    attached: list[Message] = []
    seen: dict[Path, SeenFile] = {}
    room, too_many = MAX_TOTAL_CHARACTERS, 0
    for place, (path, mention) in enumerate(found.items()):
        if not setting.may_read(path):
            content = withheld(
                "The permission rules do not allow reading it.", "no permission rule allows reading it"
            )
        elif place >= MAX_MENTIONS or room <= 0:
            content, too_many = Content(TOO_MUCH), too_many + 1
        else:
            content = await _content(path, mention, setting, is_known=path in known)
        room -= len(content.text)
        attached.append(_message(path, content, setting.ids))
        if content.missing:
            attached.append(_notice(f"{shown_name(path)} {content.missing}", setting.ids))
        if content.content_hash:
            seen[path] = SeenFile(content.content_hash, is_partial=content.is_partial)
    if too_many:
        attached.append(
            _notice(f"{too_many} of the named files are not shown: they are too much at once", setting.ids)
        )
    if missed:
        attached.append(_notice(_missed(missed), setting.ids))
    for path, shown in seen.items():  # only now: what is cancelled half way was not shown
        setting.files.put(path, shown)
    return attached


def not_attached(reason: str, ids: Ids) -> Sequence[Message]:
    """What stands in place of everything that a prompt names, where looking it up came to nothing for this reason."""
    text = "The files that the user named with `@` could not be looked up in time; Read those you need."
    return (
        attachment_message(ids.uuid(), Reminder(MENTION, text)),
        _notice(f"what the prompt names with `@` was not looked up: {reason}", ids),
    )


def _missed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{shown_name(name)}`" for name in names[:MAX_MISSED])
    more = f" and {len(names) - MAX_MISSED} more" if len(names) > MAX_MISSED else ""
    return f"there is no {shown}{more} to come with the prompt; lines are named as in `@a.py#L2-3`"


def _existing(prompt: str, workspace: Workspace) -> tuple[dict[Path, Mention], tuple[str, ...]]:
    """Each mentioned path that exists, with the first reading that found it, and the names that were meant as one. Blocking; only
    looks, never opens.
    """
    found: dict[Path, Mention] = {}
    missed: list[str] = []
    for readings in mentions(prompt):
        for mention in readings:
            path = _resolved(mention.name, workspace)
            if path is not None and _is_there(path):
                found.setdefault(path, mention)
                break
        else:
            name = missed_name(readings, lambda folder: _is_folder(folder, workspace))
            if name is not None:
                missed.append(name)
    return found, tuple(dict.fromkeys(missed))


def _resolved(name: str, workspace: Workspace) -> Path | None:
    try:
        return workspace.resolve(name)
    except (UsageError, OSError, ValueError):
        return None


def _is_folder(name: str, workspace: Workspace) -> bool:
    path = _resolved(name, workspace)
    return path is not None and os.path.isdir(path)


def _is_there(path: Path) -> bool:
    """Also where nobody may look: what cannot be reached is told, what does not exist was no name of a file."""
    try:
        os.stat(path)
    except OSError as error:
        return error.errno in {errno.EACCES, errno.EPERM, errno.ELOOP}
    except ValueError:
        return False
    return True


def _in_view(view: Sequence[Message], workspace: Workspace) -> frozenset[Path]:
    """Files whose content stands in the view: read, written or mentioned before."""
    paths: set[Path] = set()
    for named in touched_paths(view, SHOWING_TOOLS):
        try:
            paths.add(workspace.resolve(named))
        except (UsageError, OSError, ValueError):
            continue
    return frozenset(paths)


async def _content(path: Path, mention: Mention, setting: MentionSetting, *, is_known: bool) -> Content:
    try:
        if await to_thread.run_sync(os.path.isdir, path, abandon_on_cancel=True):
            return await to_thread.run_sync(folder_content, path, abandon_on_cancel=True)
        data = await setting.workspace.read_bytes(path, max_bytes=MAX_FILE_BYTES + 1)
    except OSError as error:
        return withheld(f"It cannot be read: {why(error)}.", f"it cannot be read ({why(error)})")
    except UsageError:
        return withheld("It is no regular file and not opened.", "it is no regular file")
    show = partial(file_content, data, mention, takes_images=setting.takes_images)
    content = await to_thread.run_sync(show, abandon_on_cancel=True)
    seen = setting.files.get(path)
    is_whole = seen is not None and seen.content_hash == content.content_hash and not seen.is_partial
    if is_known and is_whole and content.image is None:
        return Content("You have seen it whole in this conversation, and it has not changed since.")
    return content


def _notice(text: str, ids: Ids) -> Message:
    return notice_message(ids.uuid(), "mention_withheld", f"{text}.", level="warning")


def _message(path: Path, content: Content, ids: Ids) -> Message:
    name = shown_name(path)
    if content.image is not None:
        return attachment_message(ids.uuid(), AttachedImage(name, content.image))
    key = path_key(path) if content.content_hash else ""
    knows = KnownFile(key, content.content_hash, content.is_partial) if key else None
    return attachment_message(
        ids.uuid(), Reminder(MENTION, f"The user named {name}. {content.text}", key, knows)
    )
