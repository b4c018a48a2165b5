"""A window that is smaller than was believed, in the words of real servers: what is staged goes first, then an account, then the
query ends; never round and round, and never with a longer request than was refused.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.test_long_conversations import ADAPTERS, WISH, looking_tool

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.events import Event, Terminal
from ostinato.messages import Usage
from ostinato.ports import ModelFacts
from ostinato.providers.exchange import HttpSettings
from ostinato.state import QueryConfig
from ostinato.testing import HttpError, Reply, StrictServer, call, result, say, terminal, transitions

LIMIT = 12_000
"""Tokens that the servers' models really take; all that is known of them says 200,000."""

PARTS = 14


def anthropic(message: str) -> Mapping[str, object]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def openai(message: str, code: str | None = None) -> Mapping[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


WORDS: Mapping[str, tuple[str, int, Callable[[int], Mapping[str, object]]]] = {
    "Anthropic": ("anthropic", 400, lambda n: anthropic(f"prompt is too long: {n} tokens > {LIMIT} maximum")),
    "Anthropic, no numbers": ("anthropic", 413, lambda _: anthropic("Prompt is too long")),
    "OpenAI": (
        "openai",
        400,
        lambda n: openai(
            f"This model's maximum context length is {LIMIT} tokens. However, your messages resulted in {n} tokens.",
            "context_length_exceeded",
        ),
    ),
    "OpenRouter": (
        "openai",
        400,
        lambda n: openai(
            f"This endpoint's maximum context length is {LIMIT} tokens. However, you requested about {n + 900} tokens "
            f"({n} of text input, 900 in the output)."
        ),
    ),
    "llama.cpp": (
        "openai",
        400,
        lambda n: openai(
            f"request ({n} tokens) exceeds the available context size ({LIMIT} tokens), try increasing it"
        ),
    ),
    "Mistral": (
        "openai",
        422,
        lambda n: {
            "message": f"Prompt contains {n} tokens, too large for model with {LIMIT} maximum context length"
        },
    ),
    "OpenAI, Responses": (
        "responses",
        400,
        lambda _: openai(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "context_length_exceeded",
        ),
    ),
}


class Server:
    """Its model looks at one part after another. `takes`: whether a request of that many tokens is taken."""

    def __init__(self, vendor: str, takes: Callable[[int], bool]) -> None:
        self.wire, self._status, words = WORDS[vendor]
        self._takes = takes
        self.words: Callable[[int], Mapping[str, object]] = words
        self.looked = 0
        self.refused: list[int] = []
        self.refused_summaries = 0
        self.says = "a look"
        self.server = StrictServer(script=self._turn)

    def _turn(self, request: object, _number: int) -> Reply | HttpError:
        size = len(msgspec.json.encode(msgspec.to_builtins(request)))
        tokens = size // 3
        if not self._takes(tokens):
            self.refused.append(size)
            self.refused_summaries += "<analysis>" in str(request)
            return HttpError(self._status, self.words(tokens))
        usage = Usage(tokens, 20)
        if "<analysis>" in str(request):
            account = "<summary>Parts were looked at, one after the other; more are to come.</summary>"
            return Reply(say(account), usage=usage)
        self.looked += 1
        more = self.looked <= PARTS
        blocks = (
            (say(f"{self.looked} {self.says}"), call("Look", f"t{self.looked}")) if more else (say("done"),)
        )
        return Reply(*blocks, usage=usage)


async def played(folder: Path, server: Server, *, collapse: bool = True, lines: int = 120) -> list[Event]:
    facts = ModelFacts("anthropic" if server.wire == "anthropic" else "openai", "model-1", 200_000, 2_000)
    with server.server as running:
        model: Any = ADAPTERS[server.wire](
            facts, base_url=running.url, api_key="key-1", settings=HttpSettings()
        )
        options = Options(
            cwd=folder,
            model=model,
            tools=[looking_tool(lines)],
            allowed_tools=["Look"],
            environment={"HOME": str(folder)},
            keep_session=False,
            config=QueryConfig(collapse=collapse, normalise_strictly=True),
        )
        try:
            async with open_engine(options) as engine:
                return [event async for event in engine.submit_message(WISH)]
        finally:
            await model.aclose()


@pytest.mark.parametrize("vendor", WORDS)
async def test_where_the_real_window_is_small_the_work_is_done_within_it(tmp_path: Path, vendor: str):
    server = Server(vendor, lambda tokens: tokens <= LIMIT)
    events = await played(tmp_path, server)
    assert result(events).text == "done"
    assert len(server.refused) <= 3
    assert all(WISH in str(request.body) for request in server.server.requests)


@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize("vendor", WORDS)
async def test_a_server_that_takes_nothing_any_more_is_asked_in_shorter_and_shorter_words_and_then_let_be(
    tmp_path: Path, vendor: str, collapse: bool
):
    refuses = False

    def takes(tokens: int) -> bool:
        nonlocal refuses
        refuses = refuses or tokens > LIMIT
        return not refuses

    server = Server(vendor, takes)
    end: Terminal = terminal(await played(tmp_path, server, collapse=collapse))
    tried = [reason for reason in transitions(end) if reason != "next_turn"]
    ways = ["collapse_drain_retry", "reactive_compact_retry"] if collapse else ["reactive_compact_retry"]
    assert tried == ways
    assert end.reason == "prompt_too_long"
    assert end.hint
    assert server.refused[0] == max(server.refused)


@pytest.mark.parametrize("vendor", ["Anthropic", "Anthropic, no numbers", "OpenAI", "OpenAI, Responses"])
async def test_a_refusal_is_answered_by_a_summary_that_the_model_can_still_write(tmp_path: Path, vendor: str):
    server = Server(vendor, lambda tokens: tokens <= LIMIT)
    end = terminal(await played(tmp_path, server, collapse=False))
    assert end.reason == "completed"
    assert [reason for reason in transitions(end) if reason != "next_turn"][:1] == ["reactive_compact_retry"]
    bodies = [str(request.body) for request in server.server.requests]
    refused = next(at for at, request in enumerate(bodies) if "<analysis>" in request) - 1
    after = next(body for body in bodies[refused + 1 :] if "<analysis>" not in body)
    assert "Parts were looked at" in after
    assert len(after) < len(bodies[refused]) / 2


async def test_a_refusal_counts_for_more_than_our_own_count(tmp_path: Path):
    """By the server's count the window is full; by ours it is hardly used, and there is nothing to learn of its size."""
    server = Server("Anthropic", lambda tokens: tokens <= LIMIT)
    server.words = lambda _: anthropic("prompt is too long: 210000 tokens > 200000 maximum")
    end = terminal(await played(tmp_path, server, collapse=False))
    assert end.reason == "completed"
    assert len(server.refused) <= 2, "what was refused, and a request for its summary that was hardly shorter"


@pytest.mark.parametrize("says", ["a look", "what is told of it is as long as it was " * 225])
async def test_a_summary_is_asked_for_in_fewer_words_than_were_refused(tmp_path: Path, says: str):
    """The refusal teaches nothing of the window, as above: what was refused is all that is known."""
    server = Server("Anthropic", lambda tokens: tokens <= LIMIT)
    server.says = says
    server.words = lambda _: anthropic("prompt is too long: 210000 tokens > 200000 maximum")
    lines = 120 if says == "a look" else 2
    await played(tmp_path, server, collapse=False, lines=lines)
    assert server.refused
    assert server.refused_summaries == 0
