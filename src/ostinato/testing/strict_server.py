"""A real HTTP server on this machine that speaks the Messages, the Chat Completions and the Responses wire and refuses what they
refuse.

It plays the same turns as the scripted model, breaks connections as told, and remembers every request. Any client may
use it: one in this process, or a program under test.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from ostinato.testing.issued_thinking import IssuedThinking
from ostinato.testing.script import Cut, Reply
from ostinato.testing.scripted_model import ScriptExhausted
from ostinato.testing.strict_listener import Listener
from ostinato.testing.wire import Wire, WireError
from ostinato.testing.wire_answer import Answer, Called, answer_for, error_answer
from ostinato.testing.wire_anthropic import AnthropicWire, wire_block
from ostinato.testing.wire_json import as_dict, as_dicts, as_text
from ostinato.testing.wire_openai import OpenAIWire
from ostinato.testing.wire_responses import ResponsesWire
from ostinato.testing.wire_rules import DEFAULT_RULES, Problem, WireRules, estimated_tokens
from ostinato.testing.wire_turn import HttpError, OnWire, WireTurn

WireScript = Callable[[dict[str, Any], int], WireTurn]

MESSAGES = "/v1/messages"
WIRES: dict[str, Wire] = {
    MESSAGES: AnthropicWire(),
    "/v1/chat/completions": OpenAIWire(),
    "/v1/responses": ResponsesWire(),
}
COUNT_TOKENS = f"{MESSAGES}/count_tokens"
MODELS = "/v1/models"
SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "proxy-authorization"})
STOP_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request as it came. Header names are in lower case, keys are blacked out; `problems` says why it was refused."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    problems: tuple[Problem, ...] = ()


class StrictServer:
    """`with StrictServer(Reply(say("hi"))) as server:` serves on `server.url` until the block is left.

    The first legal request gets the first turn, and so on; `script` is asked instead of a list: a function of the body and
    the number of the legal request, from 1. `accepts_keys` and `models` None accept any. `send_buffer_bytes` is what the
    kernel may hold for a client that does not read.
    """

    def __init__(
        self,
        *turns: WireTurn,
        script: WireScript | None = None,
        rules: WireRules = DEFAULT_RULES,
        accepts_keys: Collection[str] | None = None,
        models: Collection[str] | None = None,
        send_buffer_bytes: int | None = None,
    ) -> None:
        self.requests: list[ServedRequest] = []
        self.bytes_sent: list[int] = []
        self.connections = 0
        self.faults: list[BaseException] = []
        self._turns = turns
        self._script = script
        self._rules = rules
        self._accepts_keys = accepts_keys
        self._models = models
        self._issued = IssuedThinking()
        self._played = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._listener = Listener(self, send_buffer_bytes=send_buffer_bytes)

    # -------------------------------------------------------------------------------------------- for the test

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End every connection, at once, and the server."""
        self._stopping.set()
        self._listener.stop(STOP_TIMEOUT_S)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def turns_left(self) -> int:
        return max(0, len(self._turns) - self._played)

    @property
    def open_connections(self) -> int:
        return self._listener.open_connections

    @property
    def refused(self) -> tuple[ServedRequest, ...]:
        """The requests that broke a rule."""
        return tuple(request for request in self.requests if request.problems)

    def assert_clean(self) -> None:
        """Raise AssertionError if any request broke a rule, or the script itself raised."""
        if self.faults:
            raise AssertionError(f"the script failed: {self.faults[0]!r}") from self.faults[0]
        found = [problem.message for request in self.refused for problem in request.problems]
        if found:
            raise AssertionError("the server refused requests: " + "; ".join(found))

    # -------------------------------------------------------------------------------------------- for connections

    def wait(self, seconds: float) -> bool:
        """Let that much time pass; True as soon as the server stops."""
        return self._stopping.wait(seconds)

    def accepted(self) -> None:
        with self._lock:
            self.connections += 1

    def broke(self, error: BaseException) -> None:
        with self._lock:
            self.faults.append(error)

    def new_response(self) -> Callable[[int], None]:
        """A counter for the body bytes of one more response."""
        with self._lock:
            place = len(self.bytes_sent)
            self.bytes_sent.append(0)

        def count(sent: int) -> None:
            self.bytes_sent[place] += sent

        return count

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Answer:
        """What to send for this request; it is remembered whatever comes of it."""
        with self._lock:
            wire = WIRES.get(MESSAGES if path == COUNT_TOKENS else path)
            if path == MODELS:
                return self._plain(self._listed_models(), path, headers, body)
            if wire is None:
                missing = WireError(404, f"Not found: {path}")
                return self._plain(error_answer(missing, WIRES[MESSAGES]), path, headers, body)
            problems = () if path == COUNT_TOKENS else self._problems(wire, path, headers, body)
            self.requests.append(ServedRequest(path, _blackened(headers), body, problems))
            turn = self._refusal(wire, headers, body, problems) or self._next(path, wire, body)
            called = Called(
                wire=wire,
                model=as_text(body.get("model")),
                response_id=f"msg_{self._played}",
                request_id=f"req_{len(self.requests)}",
                is_streaming=body.get("stream") is True,
                wants_usage=as_dict(body.get("stream_options")).get("include_usage") is True,
            )
            return answer_for(turn, called)

    def _plain(self, turn: HttpError, path: str, headers: dict[str, str], body: dict[str, Any]) -> Answer:
        self.requests.append(ServedRequest(path, _blackened(headers), body))
        called = Called(
            WIRES[MESSAGES], "", "", f"req_{len(self.requests)}", is_streaming=False, wants_usage=False
        )
        return answer_for(turn, called)

    def _listed_models(self) -> HttpError:
        names = sorted(self._models or ())
        return HttpError(200, {"data": [{"id": name, "object": "model"} for name in names]})

    def _problems(
        self, wire: Wire, path: str, headers: dict[str, str], body: dict[str, Any]
    ) -> tuple[Problem, ...]:
        found = wire.problems(body, self._rules)
        if path != MESSAGES:
            return found
        if not headers.get("anthropic-version"):
            found = (*found, Problem("shape", "anthropic-version: header is required"))
        return (*found, *self._issued.problems(as_dicts(body.get("messages"))))

    def _refusal(
        self, wire: Wire, headers: dict[str, str], body: dict[str, Any], problems: Sequence[Problem]
    ) -> HttpError | None:
        key, model = wire.key_in(headers), as_text(body.get("model"))
        if self._accepts_keys is not None and key not in self._accepts_keys:
            return error_answer(wire.key_error(key), wire)
        if self._models is not None and model not in self._models:
            return error_answer(wire.model_error(model), wire)
        if problems:
            first = problems[0]
            return error_answer(WireError(400, first.message, code=first.code, param=first.param), wire)
        return None

    def _next(self, path: str, wire: Wire, body: dict[str, Any]) -> WireTurn:
        if path == COUNT_TOKENS:
            return HttpError(200, {"input_tokens": estimated_tokens(body)})
        self._played += 1
        if self._script is not None:
            turn = self._script(body, self._played)
        elif self._played > len(self._turns):
            exhausted = ScriptExhausted(self._played, len(self._turns))
            return error_answer(WireError(400, str(exhausted)), wire)
        else:
            turn = self._turns[self._played - 1]
        self._remember_thinking(turn, as_dicts(body.get("messages")))
        return turn

    def _remember_thinking(self, turn: WireTurn, messages: list[dict[str, Any]]) -> None:
        """A reply that was paused goes on in the same message: what it thought before stands before."""
        said = turn.turn if isinstance(turn, OnWire) else turn
        reply = said.reply if isinstance(said, Cut) else said
        if isinstance(reply, Reply):
            last = messages[-1] if messages else {}
            begun = as_dicts(last.get("content")) if last.get("role") == "assistant" else []
            self._issued.remember([wire_block(block) for block in reply.blocks], begun=begun)


def _blackened(headers: dict[str, str]) -> dict[str, str]:
    """The headers without secrets; the scheme of an authorization stays."""
    shown: dict[str, str] = {}
    for name, value in headers.items():
        scheme, space, _ = value.partition(" ")
        secret = f"{scheme}{space}***" if space else "***"
        shown[name] = secret if name in SECRET_HEADERS else value
    return shown
