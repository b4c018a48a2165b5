"""Literal edits of one file that the model has seen: what Edit and MultiEdit share. Every byte outside the changes stays."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, assert_never

import msgspec
from anyio import to_thread

from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_CHANGE_CHARACTERS, refusal, shown_path, success
from ostinato.tools.edit_match import NotMatched
from ostinato.tools.edit_steps import EditStep, apply_steps, why_not_apply, wrong_step
from ostinato.tools.existing_file import ExistingFile, NotChangeable, put_in_place_of, read_for_change
from ostinato.tools.file_change import change_display, create_file
from ostinato.tools.judged_path import judged_path
from ostinato.tools.line_ends import text_with_ends
from ostinato.tools.text_encoding import UTF_8

Found = TypeVar("Found")


class _Change(msgspec.Struct, frozen=True):
    data: bytes
    accounts: tuple[str, ...]
    display: Mapping[str, Any]


class _NewFile(msgspec.Struct, frozen=True):
    """`normal` is its text with `\\n` line ends."""

    path: Path
    data: bytes
    normal: str


async def edit_file(
    file_path: str, steps: Sequence[EditStep], context: ToolContext, *, tool: str
) -> ToolOutcome:
    """Apply all steps to the file, or none; a refused call leaves it as it is. An empty first `old_string` makes a file."""
    target = await _target(file_path, steps, context, tool=tool)
    match target:
        case NotChangeable():
            return refusal(target.reason)
        case _NewFile():
            return await create_file(target.path, target.data, target.normal, context)
        case ExistingFile():
            return await _edit(target, steps, context)
        case _:
            assert_never(target)


async def edit_refusal(
    file_path: str, steps: Sequence[EditStep], context: ToolContext, *, tool: str
) -> str | None:
    """Why `edit_file` would refuse now, if it would. Changes nothing."""
    target = await _target(file_path, steps, context, tool=tool)
    if isinstance(target, ExistingFile):
        forgiving = context.forgiving_edit
        attempt = partial(why_not_apply, target.text, target.encoding, steps, forgiving=forgiving)
        target = await _tried(attempt, target, context)
    return target.reason if isinstance(target, NotChangeable) else None


async def _target(
    file_path: str, steps: Sequence[EditStep], context: ToolContext, *, tool: str
) -> ExistingFile | _NewFile | NotChangeable:
    wrong = next(filter(None, map(wrong_step, steps)), None)
    if wrong is not None:
        return NotChangeable(wrong)
    path = judged_path(file_path, context, is_written=True)
    if any(step.old_string == "" for step in steps):
        return await _new_file(path, steps, context)
    file = await read_for_change(path, context, tool=tool)
    if isinstance(file, ExistingFile) and path.suffix == ".ipynb":
        name = shown_path(path, context.workspace.cwd)
        return NotChangeable(f"`{name}` is a notebook, shown to you as cells; change it with NotebookEdit")
    return file


async def _edit(file: ExistingFile, steps: Sequence[EditStep], context: ToolContext) -> ToolOutcome:
    name = shown_path(file.path, context.workspace.cwd)
    attempt = partial(_changed, file, steps, name, forgiving=context.forgiving_edit)
    change = await _tried(attempt, file, context)
    if isinstance(change, NotChangeable):
        return refusal(change.reason)
    failed = await put_in_place_of(file, change.data, context)
    if failed is not None:
        return refusal(failed)
    account = "\n".join(f"edited {name}{account}" for account in change.accounts)
    return success(account, max_characters=MAX_CHANGE_CHARACTERS, display=change.display)


async def _tried(
    attempt: Callable[[], Found | NotMatched], file: ExistingFile, context: ToolContext
) -> Found | NotChangeable:
    """In a thread: comparing for the reason why nothing matched may take most of a second, as do large files."""
    name = shown_path(file.path, context.workspace.cwd)
    try:
        found = await to_thread.run_sync(attempt, abandon_on_cancel=True)
    except UnicodeEncodeError as error:
        return NotChangeable(
            f"`{name}` is {file.encoding.label}, which has no {error.object[error.start]!r}; "
            "use other characters, or Write the whole file, which makes it UTF-8"
        )
    return NotChangeable(f"{name}: {found.reason}") if isinstance(found, NotMatched) else found


def _changed(
    file: ExistingFile, steps: Sequence[EditStep], name: str, *, forgiving: bool
) -> _Change | NotMatched:
    """Raises UnicodeEncodeError for what the file's encoding cannot say."""
    edited = apply_steps(file.data, file.text, file.encoding, steps, forgiving=forgiving)
    if isinstance(edited, NotMatched):
        return edited
    display = change_display(name, edited.before, edited.after, first_line=edited.first_line)
    return _Change(edited.data, edited.accounts, display)


async def _new_file(path: Path, steps: Sequence[EditStep], context: ToolContext) -> _NewFile | NotChangeable:
    """The first step gives the text of the new file, further ones change it."""
    name = shown_path(path, context.workspace.cwd)
    first, *others = steps
    if first.old_string or any(step.old_string == "" for step in others):
        return NotChangeable("an empty `old_string` creates a new file: only the first edit may have one")
    if await to_thread.run_sync(path.exists, abandon_on_cancel=True):
        return NotChangeable(
            f"`{name}` exists: an empty `old_string` only creates a new file; give the text to replace"
        )
    data = UTF_8.encode(first.new_string)
    if others:
        text = text_with_ends(first.new_string)
        edited = apply_steps(data, text, UTF_8, others, forgiving=context.forgiving_edit)
        if isinstance(edited, NotMatched):
            return NotChangeable(f"{name}: {edited.reason}")
        data = edited.data
    return _NewFile(path, data, text_with_ends(UTF_8.decode(data)).normal)
