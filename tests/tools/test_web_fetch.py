"""WebFetch reads what is there and says what is not; with a prompt and a small model it answers, without one it gives the page."""

from collections.abc import Mapping
from typing import Any

import pytest

from ostinato.errors import UsageError
from ostinato.testing import tool_context
from ostinato.tool import ToolOutcome
from ostinato.tools.web_fetch import MAX_PAGE_CHARACTERS, web_fetch_tool
from ostinato.web_pages import WebAnswer

URL = "https://a.example/"


class PlayedWeb:
    """Implements `Web` with one answer."""

    def __init__(self, answer: WebAnswer | UsageError) -> None:
        self._answer = answer
        self.asked: list[str] = []

    async def check(self, url: str) -> None:
        """Nothing is wrong with any address."""

    async def get(self, url: str) -> WebAnswer:
        self.asked.append(url)
        if isinstance(self._answer, UsageError):
            raise self._answer
        return self._answer


def page(text: str = "<h1>Prices</h1><p>A pen is 2 €.</p>", status: int = 200, **more: Any) -> WebAnswer:
    return WebAnswer(URL, status, more.pop("kind", "text/html; charset=utf-8"), text.encode(), **more)


async def fetched(answer: WebAnswer, *, small: Any = None, **tool_input: str) -> ToolOutcome:
    context = tool_context(ask_side_model=small)
    given: Mapping[str, Any] = {"url": URL, **tool_input}
    outcome = await web_fetch_tool(PlayedWeb(answer)).call(given, context)
    assert isinstance(outcome, ToolOutcome)
    return outcome


async def test_a_page_is_markdown_under_its_address():
    outcome = await fetched(page())
    assert outcome.content == f"[{URL}]\n# Prices\n\nA pen is 2 €."
    assert outcome.display == {"url": URL, "status": 200, "bytes": 37}


async def test_a_prompt_is_answered_by_the_small_model_from_the_page_alone():
    asked: list[tuple[str, str]] = []

    async def small(system: str, prompt: str) -> str:
        asked.append((system, prompt))
        return "2 €"

    outcome = await fetched(page(), small=small, prompt="What does a pen cost?")
    assert outcome.content == f"[answered from {URL}]\n2 €"
    ((system, prompt),) = asked
    assert prompt.startswith("What does a pen cost?")
    assert "A pen is 2 €." in prompt
    assert "data" in system


@pytest.mark.parametrize("has_model", [True, False])
async def test_without_an_answer_of_the_small_model_there_is_the_page_itself(*, has_model: bool):
    async def small(system: str, prompt: str) -> None:
        del system, prompt

    outcome = await fetched(page(), small=small if has_model else None, prompt="What does a pen cost?")
    assert "A pen is 2 €." in str(outcome.content)


async def test_a_long_page_is_cut_and_says_so():
    outcome = await fetched(page("word " * 100_000, kind="text/plain", is_cut=True))
    assert len(str(outcome.content)) < MAX_PAGE_CHARACTERS + 200
    assert "characters left out" in str(outcome.content)
    assert "its beginning" in str(outcome.content)


async def test_another_site_is_named_and_not_read():
    moved = "https://other.example/login"
    outcome = await fetched(WebAnswer(URL, 302, moved_to=moved))
    assert not outcome.is_error
    assert moved in str(outcome.content)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (page("<p>gone</p>", 404), "404"),
        (page("oops" * 9_000, 500, kind="text/plain"), "500"),
        (page("x", kind="image/png"), "image/png"),
        (page("x", 403, kind="image/png"), "403"),
    ],
)
async def test_what_is_no_page_is_an_error_that_says_why(answer: WebAnswer, said: str):
    outcome = await fetched(answer)
    assert outcome.is_error
    assert said in str(outcome.content)
    assert len(str(outcome.content)) < 2_000


async def test_an_empty_page_is_no_empty_result():
    assert "no text" in str((await fetched(page("<p></p>"))).content)


async def test_without_a_web_it_says_so():
    outcome = await web_fetch_tool(None).call({"url": URL}, tool_context())
    assert isinstance(outcome, ToolOutcome)
    assert outcome.is_error
