"""WebSearch: addresses with titles and snippets from the search service that the user set up."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import refusal, success
from ostinato.web_pages import SearchHit, SearchQuery, SearchWeb

PROMPT: Final = "Search the web. WebFetch reads what it finds."

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "allowed_domains": {"type": "array", "items": {"type": "string"}},
        "blocked_domains": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["query"],
    "additionalProperties": False,
}

MAX_RESULT_CHARACTERS: Final = 20_000
MAX_HITS: Final = 10
MAX_SNIPPET_CHARACTERS: Final = 500


def web_search_tool(search: SearchWeb) -> Tool:
    """It writes nothing, but its words leave the machine."""

    async def find(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Raises what the search raises."""
        request = msgspec.convert(dict(tool_input), SearchQuery)
        problem = _problem(request)
        if problem:
            return refusal(problem)
        context.progress(f"searching for {request.query}\n")
        hits = [hit for hit in await search(request) if _is_wanted(hit, request)][:MAX_HITS]
        return success(
            _told(request, hits),
            max_characters=MAX_RESULT_CHARACTERS,
            display={"hits": msgspec.to_builtins(hits)},
        )

    return Tool(
        name="WebSearch",
        description=PROMPT,
        input_schema=SCHEMA,
        call=find,
        cannot_succeed=why_not_search,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
        interrupt_behaviour="cancel",
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("query",),
    )


async def why_not_search(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    del context
    return _problem(msgspec.convert(dict(tool_input), SearchQuery)) or None


def _problem(request: SearchQuery) -> str:
    if not request.query.strip():
        return "the query is empty: say what to look for"
    if request.allowed_domains and request.blocked_domains:
        return "give `allowed_domains` or `blocked_domains`, not both"
    return ""


def _is_wanted(hit: SearchHit, request: SearchQuery) -> bool:
    try:
        host = (urlsplit(hit.url).hostname or "").lower().rstrip(".")
    except ValueError:
        return False
    allowed = not request.allowed_domains or any(_is_below(host, name) for name in request.allowed_domains)
    return bool(host) and allowed and not any(_is_below(host, name) for name in request.blocked_domains)


def _is_below(host: str, domain: str) -> bool:
    name = domain.lower().strip().removeprefix("*.").strip(".")
    return host == name or host.endswith(f".{name}")


def _told(request: SearchQuery, hits: Sequence[SearchHit]) -> str:
    if not hits:
        return f"Nothing was found for {request.query!r}."
    return "\n\n".join(f"{number}. {_line(hit)}" for number, hit in enumerate(hits, 1))


def _line(hit: SearchHit) -> str:
    title, snippet = (" ".join(text.split()) for text in (hit.title, hit.snippet))
    short = snippet if len(snippet) <= MAX_SNIPPET_CHARACTERS else f"{snippet[:MAX_SNIPPET_CHARACTERS]}…"
    return "\n".join(part for part in (title or hit.url, hit.url if title else "", short) if part)
