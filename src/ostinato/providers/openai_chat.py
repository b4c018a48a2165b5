"""Chat Completions as a `Model`: OpenAI's own and the many servers that speak alike, each with gaps of its own.

One streamed request, once. What a server leaves out is made up where that is safe, and refused where it is not.
"""

from collections.abc import Iterable
from uuid import uuid4

from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    MessageStart,
    MessageStop,
    TextDelta,
    ThinkingDelta,
)
from ostinato.messages import ProviderState, Text, Thinking, Usage
from ostinato.ports import ModelFacts
from ostinato.providers.calls import CallIds
from ostinato.providers.lenient_json import Unreadable, decode_event, no_reply
from ostinato.providers.openai_calls import StreamedCalls
from ostinato.providers.openai_model import OpenAIModel, OpenAIWire
from ostinato.providers.openai_wire import (
    CHUNK_DECODER,
    OpenAIBodies,
    WireCall,
    WireChoice,
    WireChunk,
    WireDelta,
    WireUsage,
)
from ostinato.providers.sse import ServerSentEvent
from ostinato.providers.stop_reasons import openai_stop_reason
from ostinato.providers.streaming import reply_cut

DONE = b"[DONE]"
FAILED_FINISHES = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Finish reasons that say that the server gave up."""

TELLING_ID_CHARACTERS = 16
"""Servers that count or dice out short ids repeat them within a session; a longer one is believed to be unique."""


class OpenAIChatReply:
    """Decodes one reply. The wire knows no blocks: text and thinking end where something else begins, calls when their
    arguments are whole and the next one begins, everything else with the finish reason."""

    def __init__(self, facts: ModelFacts, call_ids: CallIds, max_output_tokens: int) -> None:
        self.has_odd_text = False
        self._facts = facts
        self._max_output_tokens = max_output_tokens
        self._calls = StreamedCalls(call_ids)
        self._response_id = ""
        self._choice_index = -1  # of the one choice that is read; -1 until the first came
        self._next_index = 0
        self._prose: list[str] = []  # the open text or thinking block's pieces
        self._prose_field = ""  # what the open block is: "content", or the field that its reasoning comes in
        self._prose_index = 0
        self._usage = Usage()
        self._finish = ""
        self._is_finished = False  # a finish reason came, or [DONE]
        self._is_refusal = False
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    @property
    def is_settled(self) -> bool:
        return self._is_finished and bool(self._response_id)

    def read(self, events: Iterable[ServerSentEvent], into: list[AnyModelEvent]) -> None:
        for event in events:
            data = event.data.strip()
            if self._is_complete or not data:
                continue
            if data == DONE:
                self._is_finished = True
                into += self.end()
            else:
                self._take(data, into, is_error=event.name == b"error")

    def read_whole(self, data: bytes, into: list[AnyModelEvent]) -> None:
        """A reply that did not stream: a single chunk, whose message is its only delta."""
        chunk = decode_event(CHUNK_DECODER, data)
        if not chunk.choices:
            raise no_reply(data)
        self._take(data, into, is_error=False)
        self._is_finished = True
        into += self.end()

    def end(self) -> list[AnyModelEvent]:
        """The last blocks and the stop; a reply that names a finish reason is whole, with or without `[DONE]`."""
        if not self._is_finished or not self._response_id:
            raise reply_cut("the reply ended without a finish reason")
        self._is_complete = True
        events = self._finish_blocks()
        return [*events, MessageStop(self._stop_reason(), self._usage, self._finish)]

    def _take(self, data: bytes, into: list[AnyModelEvent], *, is_error: bool) -> None:
        try:
            chunk = CHUNK_DECODER.decode(data)
        except Unreadable:
            self.has_odd_text = True
            chunk = decode_event(CHUNK_DECODER, data)
        error = bytes(chunk.error)
        if is_error or error not in {b"", b"null"} or (chunk.choices is None and b'"error"' in data):
            from ostinato.providers.classify import classify_openai_event  # ruff: ignore[import-outside-top-level] - as above

            raise classify_openai_event(error or data, self._facts, request_id=self._response_id)
        self._take_usage(chunk.usage)
        if not self._response_id:
            into.append(self._start(chunk))
        if not chunk.choices or self._is_finished:
            return
        choice = chunk.choices[0]
        if (choice.index or 0) != self._choice_index:
            choice = self._own_choice(chunk.choices)
            if choice is None:
                return
        self._take_usage(choice.usage)
        delta = choice.delta or choice.message
        if delta is not None:
            self._take_delta(delta, into)
        if choice.finish_reason:
            self._take_finish(choice.finish_reason, into)

    def _own_choice(self, choices: list[WireChoice]) -> WireChoice | None:
        """The choice that is read: the first one that came. Nobody asked for others, but some servers send them."""
        if self._choice_index < 0:
            self._choice_index = choices[0].index or 0
        return next((one for one in choices if (one.index or 0) == self._choice_index), None)

    def _start(self, chunk: WireChunk) -> MessageStart:
        given = chunk.id or "chatcmpl"
        self._response_id = given if len(given) >= TELLING_ID_CHARACTERS else f"{given}-{uuid4().hex}"
        return MessageStart(self._response_id, chunk.model or self._facts.id, self._usage)

    def _take_delta(self, delta: WireDelta, into: list[AnyModelEvent]) -> None:
        # Thoughts come before what they led to, also when both come at once.
        if delta.reasoning_content:
            self._take_prose("reasoning_content", delta.reasoning_content, into)
        elif delta.reasoning:
            self._take_prose("reasoning", delta.reasoning, into)
        if delta.content:
            text = delta.content
            if not isinstance(text, str):
                text = "".join(part.text or "" for part in text)
            self._take_prose("content", text, into)
        if delta.refusal:
            self._is_refusal = True
            self._take_prose("content", delta.refusal, into)
        calls = delta.tool_calls or []
        if delta.function_call is not None:  # the wire's older form: one call, without an id
            calls = [*calls, WireCall(0, None, delta.function_call)]
        for call in calls:
            into += self._close_prose()
            self._next_index = self._calls.take(call, self._response_id, self._next_index, into)

    def _take_prose(self, field: str, text: str, into: list[AnyModelEvent]) -> None:
        if not text:
            return
        is_text = field == "content"
        if field != self._prose_field:
            into += self._close_prose()
            self._prose_field, self._prose_index = field, self._next_index
            self._next_index += 1
            into.append(BlockStart(self._prose_index, "text" if is_text else "thinking"))
        self._prose.append(text)
        index = self._prose_index
        into.append(TextDelta(index, text) if is_text else ThinkingDelta(index, text))

    def _close_prose(self) -> list[AnyModelEvent]:
        if not self._prose_field:
            return []
        text, field = "".join(self._prose), self._prose_field
        self._prose, self._prose_field = [], ""
        if field == "content":
            return [BlockStop(self._prose_index, Text(text))]
        state = ProviderState(self._facts.provider, self._facts.id, field)
        return [BlockStop(self._prose_index, Thinking(text, state))]

    def _take_finish(self, reason: str, into: list[AnyModelEvent]) -> None:
        if reason.lower() in FAILED_FINISHES:
            raise ModelError(
                f"`{self._facts.provider}/{self._facts.id}`: the server gave up in the middle of the reply",
                kind="server",
                retry=True,
                provider_code=reason,
                hint="the fault is the server's: try again; if it stays, look at its log or status page",
            )
        self._finish = reason
        self._is_finished = True
        # What is whole may run now; the usage note is still to come.
        into += self._finish_blocks()

    def _finish_blocks(self) -> list[AnyModelEvent]:
        is_cut = openai_stop_reason(self._finish, has_calls=False) == "max_tokens"
        calls = self._calls.finish(self._response_id, self._next_index, is_cut=is_cut)
        return [*self._close_prose(), *calls]

    def _stop_reason(self) -> str:
        reason = openai_stop_reason(self._finish, has_calls=self._calls.has_finished)
        if self._is_refusal and reason == "end_turn":
            return "refusal"
        # Some servers call a cut a tool call: the count gives them away.
        if self._calls.has_invalid and self._usage.output_tokens >= self._max_output_tokens:
            return "max_tokens"
        return reason

    def _take_usage(self, usage: WireUsage | None) -> None:
        """Into counts apart: this wire has the cached tokens inside those of the prompt."""
        if usage is None:
            return
        details, output_details = usage.prompt_tokens_details, usage.completion_tokens_details
        cached = (details and details.cached_tokens) or usage.prompt_cache_hit_tokens or 0
        written = (details and details.cache_write_tokens) or 0
        known = self._usage
        self._usage = Usage(
            max((usage.prompt_tokens or 0) - cached - written, 0)
            if usage.prompt_tokens
            else known.input_tokens,
            usage.completion_tokens or known.output_tokens,
            cached or known.cache_read_input_tokens,
            written or known.cache_creation_input_tokens,
            (output_details and output_details.reasoning_tokens) or known.reasoning_tokens,
        )


class OpenAIChatModel(OpenAIModel):
    """The model behind `/chat/completions`."""

    wire = OpenAIWire(
        "v1/chat/completions",
        OpenAIBodies,
        lambda facts, request: OpenAIChatReply(facts, CallIds(request.messages), request.max_output_tokens),
    )
