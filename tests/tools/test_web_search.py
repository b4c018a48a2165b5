"""WebSearch gives what the service finds, filtered as asked; without a service it says what to set up."""

from collections.abc import Sequence

import pytest

from ostinato.testing import tool_context
from ostinato.tool import ToolOutcome
from ostinato.tools.web_search import web_search_tool
from ostinato.web_pages import SearchHit, SearchQuery

HITS = (
    SearchHit("https://docs.example/a", "A  page", "what\nit says"),
    SearchHit("https://example.com/b", "", "b"),
    SearchHit("https://notexample.com/c", "C"),
    SearchHit("https://[bad", "D"),
)


class Service:
    """Implements `SearchWeb`."""

    def __init__(self, hits: Sequence[SearchHit] = HITS) -> None:
        self.queries: list[SearchQuery] = []
        self._hits = hits

    async def __call__(self, query: SearchQuery) -> Sequence[SearchHit]:
        self.queries.append(query)
        return self._hits


async def searched(service: Service | None = None, **tool_input: object) -> ToolOutcome:
    tool = web_search_tool(service or Service())
    outcome = await tool.call({"query": "pens", **tool_input}, tool_context())
    assert isinstance(outcome, ToolOutcome)
    return outcome


async def test_hits_are_numbered_with_title_address_and_snippet():
    outcome = await searched()
    assert str(outcome.content).startswith(
        "1. A page\nhttps://docs.example/a\nwhat it says\n\n2. https://example.com/b\nb"
    )
    assert "[bad" not in str(outcome.content)


async def test_domains_cover_what_is_below_them_and_nothing_that_only_ends_alike():
    allowed = str((await searched(allowed_domains=["example.com"])).content)
    assert "example.com/b" in allowed
    assert "notexample" not in allowed
    blocked = str((await searched(blocked_domains=["*.example", "example.com"])).content)
    assert blocked.startswith("1. C")


async def test_nothing_found_is_an_answer():
    outcome = await searched(Service(()))
    assert not outcome.is_error
    assert "Nothing was found" in str(outcome.content)


@pytest.mark.parametrize("wrong", [{"query": " "}, {"allowed_domains": ["a"], "blocked_domains": ["b"]}])
async def test_what_cannot_be_asked_is_not_asked(wrong: dict[str, object]):
    service = Service()
    assert (await searched(service, **wrong)).is_error
    assert service.queries == []


async def test_at_most_ten_are_shown():
    many = [SearchHit(f"https://a.example/{number}", str(number), "x" * 5_000) for number in range(50)]
    text = str((await searched(Service(many))).content)
    assert "10. 9" in text
    assert "11." not in text
    assert len(text) < 10_000
