"""Tools that can do nothing in this run but say why: they are not offered, and what they really are is not loaded."""

from collections.abc import Mapping
from typing import Any, Final

from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import refusal

ANYTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}

NOBODY_TO_ASK: Final = (
    "Declined: nobody can be asked in this run. Decide yourself as the task suggests, and say in your answer what you "
    "assumed; if it cannot be done without an answer, say what you need to know."
)

NO_SEARCH: Final = (
    "WebSearch is off: no search service is set up. The user can name one with the setting `web.search.url` "
    "(`web_search` in a program, or OSTINATO_WEB_SEARCH_URL), for "
    "example `https://searx.example/search?q={query}&format=json`, or say `provider` where the model's provider searches. WebFetch reads an address that you know."
)


def switched_off_tool(name: str, why: str) -> Tool:
    """Takes any input, and answers each call with the reason; nobody is asked first."""

    async def decline(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        del tool_input, context
        return refusal(why)

    async def is_off(tool_input: Mapping[str, Any], context: ToolContext) -> str:
        del tool_input, context
        return why

    return Tool(
        name=name,
        description=why,
        input_schema=ANYTHING,
        call=decline,
        cannot_succeed=is_off,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
    )
