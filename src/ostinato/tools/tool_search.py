"""ToolSearch: finds tools that are known by name only, by their names or by what they do; what it finds can be called from then on."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ostinato.deferred_tools import SEARCH_TOOL, FoundTools, schema_tokens
from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import bounded, success, valid_unicode

PROMPT: Final = (
    "Load more tools before using them: `select:A,B` by name, or keywords (`+word` must occur). "
    "What is found can be called in the next reply. Known by name only:"
)

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "max_results": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}

DEFAULT_RESULTS: Final = 5
MAX_RESULTS: Final = 50
MAX_RESULT_CHARACTERS: Final = 20_000
MAX_ABOUT_CHARACTERS: Final = 300
MAX_LISTED_CHARACTERS: Final = 20_000
"""Of names in the description: more can only be searched for."""

NAME_WEIGHT: Final = 5
WORD: Final = re.compile(r"[a-z]+|[0-9]+")
CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ToolSearchInput(msgspec.Struct, frozen=True):
    query: str
    max_results: int = DEFAULT_RESULTS


def tool_search_tool(deferred: Sequence[Tool], found: FoundTools, *, max_tokens: int) -> Tool:
    """Searches `deferred`, and adds what it finds to `found`, whose schemas never take more than `max_tokens`, about."""

    async def search(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        del context
        request = msgspec.convert(dict(tool_input), ToolSearchInput)
        matching = _matching(deferred, request)
        tools = _with_room(matching, deferred, found, max_tokens)
        names = [tool.name for tool in tools]
        found.add(names)
        text = _told(request, tools, [tool.name for tool in matching if tool.name not in names])
        return success(text, max_characters=MAX_RESULT_CHARACTERS, display={"found": names})

    listed = ", ".join(sorted(tool.name for tool in deferred))
    return Tool(
        name=SEARCH_TOOL,
        description=f"{PROMPT} {bounded(valid_unicode(listed), MAX_LISTED_CHARACTERS)}",
        input_schema=SCHEMA,
        call=search,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
        max_result_characters=MAX_RESULT_CHARACTERS,
    )


def _matching(deferred: Sequence[Tool], request: ToolSearchInput) -> list[Tool]:
    query = request.query.strip()
    if query.lower().startswith("select:"):
        wanted = {name.strip().lower() for name in query.partition(":")[2].split(",")}
        return [tool for tool in deferred if wanted & {name.lower() for name in (tool.name, *tool.aliases)}]
    most = min(max(request.max_results, 1), MAX_RESULTS)
    words = query.lower().split()
    must = [part for word in words if word.startswith("+") for part in WORD.findall(word)]
    may = [part for word in words for part in WORD.findall(word)]
    scored = [(_score(tool, must, may), place) for place, tool in enumerate(deferred)]
    best = sorted((-score, place) for score, place in scored if score > 0)
    return [deferred[place] for _, place in best[:most]]


def _with_room(
    matching: Sequence[Tool], deferred: Sequence[Tool], found: FoundTools, max_tokens: int
) -> list[Tool]:
    """What may be loaded: all of it is in every request from then on, and no summary makes that smaller."""
    loaded = frozenset(found.names)
    left = max_tokens - schema_tokens(tool for tool in deferred if tool.name in loaded)
    chosen: list[Tool] = []
    for tool in matching:
        tokens = 0 if tool.name in loaded else schema_tokens((tool,))
        if len(chosen) < MAX_RESULTS and tokens <= max(left, 0):
            chosen.append(tool)
            left -= tokens
    return chosen


def _score(tool: Tool, must: Sequence[str], may: Sequence[str]) -> int:
    """How many of the words occur, those in the name counting more; 0 if one that must does not."""
    name = set(WORD.findall(CAMEL.sub("_", tool.name).lower()))
    whole_name = tool.name.lower()
    about = set(WORD.findall(_about(tool).lower()))
    if any(word not in about and word not in whole_name for word in must):
        return 0
    return sum(
        NAME_WEIGHT if word in name else 2 if word in whole_name else 1 if word in about else 0
        for word in may
    )


def _about(tool: Tool) -> str:
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    return f"{tool.description} {' '.join(properties)}"


def _told(request: ToolSearchInput, tools: Sequence[Tool], left_out: Sequence[str]) -> str:
    lines = [f"- {tool.name}: {_short(tool.description)}" for tool in tools]
    if lines:
        lines.insert(0, "Loaded; they can be called from the next reply on:")
    if left_out:
        lines.append(
            f"[not loaded, for together they are too many or too large: {_short(', '.join(left_out))}; take what is needed]"
        )
    if lines:
        return "\n".join(lines)
    return (
        f"Nothing matches {_short(request.query)!r}: try other words, or `select:` with a name from the list."
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_ABOUT_CHARACTERS else f"{line[:MAX_ABOUT_CHARACTERS]}…"
