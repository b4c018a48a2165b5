"""Edit: one literal text for another in a file the model has seen; every byte outside the change stays as it is."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from anyio import to_thread

from ostinato.ports import Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import LONE_SURROGATE, refusal, shown_path, success
from ostinato.tools.edit_match import Matched, NotMatched, match_edit
from ostinato.tools.existing_file import ExistingFile, NotChangeable, read_for_change
from ostinato.tools.file_change import change_display, put_in_place
from ostinato.tools.line_ends import text_with_ends
from ostinato.tools.text_encoding import UTF_8

PROMPT: Final = """\
Replace exact text in a file. Read the file first in this conversation. old_string must match the file exactly (without \
the line numbers that Read shows) and be unique: include neighbouring lines if needed, or set replace_all. \
Line ends and encoding are kept. An empty old_string creates a new file."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence (default false)"},
    },
    "required": ["file_path", "old_string", "new_string"],
    "additionalProperties": False,
}

MAX_RESULT_CHARACTERS: Final = 10_000
MAX_ECHOED_CHARACTERS: Final = 4_000


class EditInput(msgspec.Struct, frozen=True):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


def edit_tool() -> Tool:
    """The Edit tool."""
    return Tool(
        name="Edit",
        description=PROMPT,
        input_schema=SCHEMA,
        call=edit,
        access=_writes_the_file,
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("file_path", "old_string", "new_string"),
    )


def _writes_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(writes=(workspace.resolve(str(tool_input["file_path"])),))


async def edit(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Apply one edit; a refused one leaves the file as it is."""
    request = msgspec.convert(dict(tool_input), EditInput)
    if request.old_string == request.new_string:
        return refusal("`old_string` and `new_string` are equal: there is nothing to change")
    if LONE_SURROGATE.search(request.new_string):
        return refusal("`new_string` holds half a code point (a lone surrogate), which no file can hold")
    path = context.workspace.resolve(request.file_path)
    if request.old_string == "":
        return await _create(path, request.new_string, context)
    file = await read_for_change(path, context, tool="Edit")
    if isinstance(file, NotChangeable):
        return refusal(file.reason)
    # Comparing for the reason why nothing matched may take most of a second.
    matched = await to_thread.run_sync(partial(_match, file, request, forgiving=context.forgiving_edit))
    if isinstance(matched, NotMatched):
        return refusal(f"{shown_path(path, context.workspace.cwd)}: {matched.reason}")
    return await _apply(file, matched, context)


def _match(file: ExistingFile, request: EditInput, *, forgiving: bool) -> Matched | NotMatched:
    old = file.text.normalise(request.old_string)
    return match_edit(
        file.text.normal, old, request.new_string, replace_all=request.replace_all, forgiving=forgiving
    )


async def _create(path: Path, text: str, context: ToolContext) -> ToolOutcome:
    name = shown_path(path, context.workspace.cwd)
    if await to_thread.run_sync(path.exists):
        return refusal(
            f"`{name}` exists: an empty `old_string` only creates a new file; give the text to replace"
        )
    wrong = await put_in_place(path, UTF_8.encode(text), context)
    if wrong is not None:
        return refusal(wrong)
    display = change_display(name, "", text_with_ends(text).normal)
    return success(f"created {name}", max_characters=MAX_RESULT_CHARACTERS, display=display)


async def _apply(file: ExistingFile, matched: Matched, context: ToolContext) -> ToolOutcome:
    name = shown_path(file.path, context.workspace.cwd)
    try:
        data, display = await to_thread.run_sync(_changed, file, matched, name)
    except UnicodeEncodeError as error:
        return refusal(
            f"`{name}` is {file.encoding.label}, which has no {error.object[error.start]!r}; "
            "use other characters, or Write the whole file, which makes it UTF-8"
        )
    wrong = await put_in_place(
        file.path, data, context, expected=file.content_hash, is_partial=file.is_partial
    )
    if wrong is not None:
        return refusal(wrong)
    return success(_account(file, matched, name), max_characters=MAX_RESULT_CHARACTERS, display=display)


def _changed(file: ExistingFile, matched: Matched, name: str) -> tuple[bytes, Mapping[str, Any]]:
    """The new bytes and the account of the change. Raises UnicodeEncodeError for what the encoding cannot say."""
    text = file.text.replaced(matched.spans, matched.new)
    data = file.encoding.encode(text)
    return data, change_display(name, file.text.normal, text_with_ends(text).normal)


def _account(file: ExistingFile, matched: Matched, name: str) -> str:
    first = file.text.line_of(matched.spans[0][0])
    if not matched.is_forgiven:
        count = len(matched.spans)
        return f"edited {name}: {count} replacements" if count > 1 else f"edited {name} at line {first}"
    return (
        f"edited {name} at line {first}. `old_string` matched there only with different white space; "
        f"the new text was fitted to the file's indentation:\n{matched.new[:MAX_ECHOED_CHARACTERS]}"
    )
