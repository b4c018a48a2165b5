"""What Grep does when it is called: search, put in order what was found, and show one page of it."""

from pathlib import Path
from typing import Final

from anyio import to_thread
from msgspec.structs import replace

from ostinato.tool import ToolContext, ToolOutcome, hides_nothing
from ostinato.tools.answer import refusal, success, valid_unicode
from ostinato.tools.grep_input import MAX_RESULT_CHARACTERS, GrepInput
from ostinato.tools.grep_output import Entry, count_entries, line_entries, page
from ostinato.tools.ripgrep import Found, SearchFailed
from ostinato.tools.search_scope import NoScope, SearchScope, newest_first, search_in, search_scope

MAX_DATED_FILES: Final = 20_000
"""Of so many files the time of change is looked up. Of ten times as many, that would take longer than the search."""

MAX_LINE_COLUMNS: Final = 500
"""Longer lines are cut by ripgrep with its own mark: minified files would fill the result."""


LEFT_OUT: Final = "files that permission rules keep from you are left out"


async def search_files(request: GrepInput, context: ToolContext) -> ToolOutcome:
    """The whole call, after its input was read."""
    scope = await to_thread.run_sync(
        search_scope, context.workspace, request.path, request.glob, context.access
    )
    if isinstance(scope, NoScope):
        return refusal(scope.reason)
    found = await search_in(scope, _arguments(request, scope), context)
    if isinstance(found, SearchFailed):
        return refusal(found.reason)
    # Tens of thousands of lines or files: not on the thread that serves everybody.
    entries = await to_thread.run_sync(_entries, request, scope, found, context.workspace.cwd)
    if _may_meet_hidden(scope, context):
        entries = await to_thread.run_sync(_without_hidden, entries, context)
        # Said whether or not one of them fits: who can ask whether a pattern fits can read the file letter by letter.
        found = replace(found, caveats=(*found.caveats, LEFT_OUT))
    shown = page(
        entries,
        offset=max(0, request.offset),
        limit=request.head_limit if request.head_limit > 0 else None,
        caveats=found.caveats,
        order=_order(request, len(entries)),
        is_grouped=request.output_mode == "content",
        max_characters=MAX_RESULT_CHARACTERS,
    )
    return success(shown.text, max_characters=MAX_RESULT_CHARACTERS, is_incomplete=shown.is_incomplete)


def _may_meet_hidden(scope: SearchScope, context: ToolContext) -> bool:
    """A file that the call names was judged with the call."""
    return context.is_hidden is not hides_nothing and not scope.is_file


def _without_hidden(entries: list[Entry], context: ToolContext) -> list[Entry]:
    hidden = {
        path: context.is_hidden(context.workspace.cwd / path) for path in {entry.path for entry in entries}
    }
    return [entry for entry in entries if not hidden[entry.path]]


def _arguments(request: GrepInput, scope: SearchScope) -> list[str]:
    arguments = ["--with-filename", "--no-heading", "--crlf", f"--regexp={valid_unicode(request.pattern)}"]
    match request.output_mode:
        case "files_with_matches":
            arguments.append("--files-with-matches")
        case "count":
            arguments.append("--count")
        case "content":
            arguments += _content_arguments(request)
    if request.ignore_case:
        arguments.append("--ignore-case")
    if request.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    arguments += [f"--type={request.file_type}"] if request.file_type else scope.type_arguments()
    return [*arguments, "--", scope.argument]


def _content_arguments(request: GrepInput) -> list[str]:
    around = max(request.around, request.context, 0)
    after, before = max(request.after, around), max(request.before, around)
    arguments = [
        "--line-number",
        f"--max-columns={MAX_LINE_COLUMNS}",
        "--max-columns-preview",
        f"--after-context={after}",
        f"--before-context={before}",
    ]
    return [*arguments, "--only-matching"] if request.only_matching else arguments


def _order(request: GrepInput, count: int) -> str:
    """What is to be said of an order that is not the usual one."""
    is_by_path = request.output_mode == "files_with_matches" and count > MAX_DATED_FILES
    return (
        f"[more than {MAX_DATED_FILES} files: in the order of their paths, not newest first]"
        if is_by_path
        else ""
    )


def _entries(request: GrepInput, scope: SearchScope, found: Found, cwd: Path) -> list[Entry]:
    """What a page consists of."""
    match request.output_mode:
        case "files_with_matches":
            printed = [path for path in found.output.split("\0")[:-1] if scope.takes(path)]
            in_order = sorted(printed) if len(printed) > MAX_DATED_FILES else newest_first(printed, cwd)
            return [Entry(path) for path in in_order]
        case "count":
            return sorted(entry for entry in count_entries(found.output) if scope.takes(entry.path))
        case "content":
            entries = line_entries(found.output, with_numbers=request.with_numbers)
            # ripgrep searches files in parallel; pages need one order. The sort is stable within a file.
            return sorted(
                (entry for entry in entries if scope.takes(entry.path)), key=lambda entry: entry.path
            )
