"""Files, folders and images that the user names with `@` come with the prompt, as far as the permissions allow.

What names no existing file is no mention. A file that the model has whole and unchanged gets one line, not its content.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.attachments.file_text import why
from ostinato.attachments.mention_syntax import Mention, mentions
from ostinato.attachments.mentioned_content import MAX_FILE_BYTES, Content, file_content, folder_content
from ostinato.attachments.quoted_text import shown_name
from ostinato.attachments.told import path_key
from ostinato.attachments.touched_files import MENTION, SHOWING_TOOLS, touched_paths
from ostinato.errors import UsageError
from ostinato.messages import AttachedImage, Message, Reminder, attachment_message, notice_message
from ostinato.ports import FileState, Ids, SeenFile, Workspace

MAX_MENTIONS: Final = 20
"""Files and folders of one prompt whose content comes along; the others are named."""

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
    found = await to_thread.run_sync(_existing, prompt, setting.workspace, abandon_on_cancel=True)
    known = _in_view(view, setting.workspace) if found else frozenset[Path]()
    attached: list[Message] = []
    seen: dict[Path, SeenFile] = {}
    room = MAX_TOTAL_CHARACTERS
    for place, (path, mention) in enumerate(found.items()):
        if not setting.may_read(path):
            content = Content("The permission rules do not allow reading it.", is_withheld=True)
        elif place >= MAX_MENTIONS or room <= 0:
            content = Content("It is not shown, because the prompt names so much; Read it if you need it.")
        else:
            content = await _content(path, mention, setting, is_known=path in known)
        room -= len(content.text)
        attached.append(_message(path, content, setting.ids))
        if content.is_withheld:
            attached.append(_notice(path, content, setting.ids))
        if content.content_hash:
            seen[path] = SeenFile(content.content_hash, is_partial=content.is_partial)
    for path, shown in seen.items():  # only now: what is cancelled half way was not shown
        setting.files.put(path, shown)
    return attached


def _existing(prompt: str, workspace: Workspace) -> dict[Path, Mention]:
    """Each mentioned path that exists, with the first reading that found it. Blocking; only looks, never opens."""
    found: dict[Path, Mention] = {}
    for readings in mentions(prompt):
        for mention in readings:
            try:
                path = workspace.resolve(mention.name)
            except (UsageError, OSError, ValueError):
                continue
            if os.path.exists(path):
                found.setdefault(path, mention)
                break
    return found


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
        return Content(f"It cannot be read: {why(error)}.", is_withheld=True)
    except UsageError:
        return Content("It is no regular file and not opened.", is_withheld=True)
    show = partial(file_content, data, mention, takes_images=setting.takes_images)
    content = await to_thread.run_sync(show, abandon_on_cancel=True)
    seen = setting.files.get(path)
    is_whole = seen is not None and seen.content_hash == content.content_hash and not seen.is_partial
    if is_known and is_whole and content.image is None:
        return Content("You have seen it whole in this conversation, and it has not changed since.")
    return content


def _notice(path: Path, content: Content, ids: Ids) -> Message:
    text = f"{shown_name(path)} does not come with the prompt. {content.text}"
    return notice_message(ids.uuid(), "mention_withheld", text, level="warning")


def _message(path: Path, content: Content, ids: Ids) -> Message:
    name = shown_name(path)
    if content.image is not None:
        return attachment_message(ids.uuid(), AttachedImage(name, content.image))
    key = path_key(path) if content.content_hash else ""
    return attachment_message(ids.uuid(), Reminder(MENTION, f"The user named {name}. {content.text}", key))
