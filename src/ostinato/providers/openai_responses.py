"""OpenAI's Responses API as a `Model`: one request, once, from the service itself or a server that speaks alike.

A model that thinks between its calls keeps its thoughts here: they come encrypted and go back as they came.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import uuid4

from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    InputJsonDelta,
    MessageStart,
    MessageStop,
    TextDelta,
    ThinkingDelta,
)
from ostinato.messages import RedactedThinking, Text, Thinking, Usage
from ostinato.ports import ModelFacts
from ostinato.providers.calls import CallIds, legal_name
from ostinato.providers.lenient_json import Unreadable, decode_event, encode, no_reply
from ostinato.providers.openai_model import OpenAIModel, OpenAIWire
from ostinato.providers.openai_responses_items import (
    PART_BREAK,
    OpenBlock,
    OpenItem,
    call_id_of,
    is_same,
    joined,
    without_seal,
)
from ostinato.providers.openai_responses_wire import (
    EVENT_DECODER,
    RESPONSE_DECODER,
    ResponsesBodies,
    WireEvent,
    WireItem,
    WireResponse,
    WireUsage,
    reasoning_state,
    search_action,
    search_block,
)
from ostinato.providers.sse import ServerSentEvent
from ostinato.providers.stop_reasons import responses_stop_reason
from ostinato.providers.streaming import reply_cut

ENDINGS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class OpenAIResponsesReply:
    """Decodes one reply. Text and summaries stream; a block stops when its part or its item ends."""

    def __init__(self, facts: ModelFacts, call_ids: CallIds) -> None:
        self.has_odd_text = False
        self._facts = facts
        self._call_ids = call_ids
        self._items: dict[int, OpenItem] = {}  # by the wire's index
        self._place_of: dict[str, int] = {}  # by the item's id, for servers whose indexes stay away
        self._done_calls: set[str] = set()
        self._done_items: set[tuple[str, str]] = set()  # kinds and ids
        self._undecided: list[OpenBlock] = []  # calls without arguments that can be read
        self._next_index = 0
        self._next_place = 0
        self._has_calls = False
        self._is_refusal = False
        self._response_id = ""
        self._usage = Usage()
        self._searches = 0
        self._is_complete = False
        self._readers: Mapping[str, Callable[[WireEvent, list[AnyModelEvent]], None]] = {
            "response.created": self._created,
            "response.in_progress": self._created,
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._refusal,
            "response.reasoning_summary_text.delta": self._summary,
            "response.reasoning_text.delta": self._reasoning_text,
            "response.function_call_arguments.delta": self._arguments,
            **dict.fromkeys(ENDINGS, self._ended),
        }

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    @property
    def is_settled(self) -> bool:
        return False  # this wire has an end mark of its own, which says how it ended

    def read(self, events: Iterable[ServerSentEvent], into: list[AnyModelEvent]) -> None:
        """The model events of a chunk; kinds unknown to us give none."""
        decode, readers = EVENT_DECODER.decode, self._readers
        for event in events:
            data = event.data
            if self._is_complete or not data or data == b"[DONE]":
                continue
            try:
                wire = decode(data)
            except Unreadable:
                self.has_odd_text = True
                wire = decode_event(EVENT_DECODER, data)
            reader = readers.get(wire.type)
            if reader is not None:
                reader(wire, into)
            elif wire.type == "error" or bytes(wire.error) not in {b"", b"null"}:
                # Some servers nest the error, the service itself does not.
                error = bytes(wire.error)
                raise self._failure(data if error in {b"", b"null"} else error)

    def read_whole(self, data: bytes, into: list[AnyModelEvent]) -> None:
        """A reply that did not stream."""
        try:
            response = RESPONSE_DECODER.decode(data)
        except Unreadable:
            self.has_odd_text = True
            response = decode_event(RESPONSE_DECODER, data)
        if response.output is None and bytes(response.error) in {b"", b"null"}:
            raise no_reply(data)
        self._end_with(response, "", into)

    def end(self) -> list[AnyModelEvent]:
        raise reply_cut("the reply ended before its `response.completed`")

    # -------------------------------------------------------------------------------------------- beginning and end

    def _created(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        self._begin(wire.response, into)

    def _begin(self, response: WireResponse | None, into: list[AnyModelEvent]) -> None:
        if self._response_id:
            return
        self._response_id = (response and response.id) or f"resp_{uuid4().hex}"
        self._add_usage(response and response.usage)
        into.append(
            MessageStart(self._response_id, (response and response.model) or self._facts.id, self._usage)
        )

    def _ended(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        self._end_with(wire.response or WireResponse(), wire.type.removeprefix("response."), into)

    def _end_with(self, response: WireResponse, told: str, into: list[AnyModelEvent]) -> None:
        """`told` is the event's name for how it ended; without one, the response says it."""
        status = response.status if response.status in {"failed", "cancelled", "incomplete"} else told
        error = bytes(response.error)
        if status in {"failed", "cancelled"} or error not in {b"", b"null"}:
            raise self._failure(error if error != b"null" else b"", is_cancelled=status == "cancelled")
        self._begin(response, into)
        self._add_usage(response.usage)
        details = response.incomplete_details
        reason = (details and details.reason) or ""
        is_cut = status == "incomplete" and reason != "content_filter"
        self._take_rest(response.output or [], into, is_cut=is_cut)
        self._is_complete = True
        stop_reason = responses_stop_reason(
            status or "completed", reason, has_calls=self._has_calls, is_refusal=self._is_refusal
        )
        usage = replace(self._usage, web_searches=self._searches)
        into.append(MessageStop(stop_reason, usage, reason or response.status or told))

    def _take_rest(self, output: Sequence[WireItem], into: list[AnyModelEvent], *, is_cut: bool) -> None:
        """What no event closed, and items of the final response that no event announced: all of them without a stream, and
        calls in any case. Half a call at the output limit is dropped."""
        has_streamed = self._next_place > 0
        for place, opened in list(self._items.items()):
            final = next((item for item in output if is_same(item, opened.item)), None)
            self._finish(place, final or without_seal(opened.item), into)
        for item in output:
            is_new_call = item.type == "function_call" and call_id_of(item) not in self._done_calls
            if is_new_call or not has_streamed:
                place = self._next_place
                self._add(place, item, into)
                self._finish(place, item, into)
        if is_cut:
            self._undecided = []
        self._release_undecided(into)

    def _failure(self, error: bytes, *, is_cancelled: bool = False) -> ModelError:
        from ostinato.providers.classify import classify_openai_event  # ruff: ignore[import-outside-top-level] - as above

        if is_cancelled and not error:
            return reply_cut("the reply was cancelled on the server")
        return classify_openai_event(error, self._facts, request_id=self._response_id)

    # -------------------------------------------------------------------------------------------- items

    def _item_added(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        self._begin(wire.response, into)
        item = wire.item or WireItem()
        self._add(self._next_place if wire.output_index is None else wire.output_index, item, into)

    def _add(self, place: int, item: WireItem, into: list[AnyModelEvent]) -> OpenItem:
        self._release_undecided(into)
        opened = OpenItem(item)
        earlier = self._items.get(place)
        if earlier is not None:  # a server whose indexes do not move on
            self._finish(place, without_seal(earlier.item), into)
        self._items[place] = opened
        self._next_place = max(self._next_place, place + 1)
        if item.id:
            self._place_of[item.id] = place
        if item.type == "function_call":
            opened.block = OpenBlock("tool_use", call_id=call_id_of(item), name=item.name or "")
            if opened.block.name:
                self._start_call(opened.block, into)
        return opened

    def _find(self, wire: WireEvent, kind: str, into: list[AnyModelEvent]) -> OpenItem:
        """The item that a delta belongs to, a new one if there is none."""
        place = self._place(kind, wire.output_index, wire.item_id)
        if place is not None:
            return self._items[place]
        self._begin(wire.response, into)
        return self._add(self._next_place, WireItem(kind, wire.item_id), into)

    def _place(self, kind: str, index: int | None, item_id: str | None) -> int | None:
        """Where an item of this kind is open: by the wire's index, then by id, then the last one."""
        for place in (index, self._place_of.get(item_id or "")):
            if place in self._items and self._items[place].item.type == kind:
                return place
        return next((place for place in reversed(self._items) if self._items[place].item.type == kind), None)

    def _item_done(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        item = wire.item or WireItem()
        place = self._place(item.type, wire.output_index, item.id)
        if place is None:
            if item.id and (item.type, item.id) in self._done_items:
                return  # said twice
            self._begin(wire.response, into)
            place = self._next_place
            self._add(place, item, into)
        self._finish(place, item, into)

    def _finish(self, place: int, item: WireItem, into: list[AnyModelEvent]) -> None:
        """The item is done: `item` is its final form, and outranks what streamed of it."""
        opened = self._items.pop(place)
        if item.id:
            self._done_items.add((item.type, item.id))
        match item.type:
            case "message":
                self._finish_message(opened, item, into)
            case "reasoning":
                self._finish_reasoning(opened, item, into)
            case "function_call":
                self._finish_call(opened, item, into)
            case "web_search_call" if item.id:
                self._finish_search(item, into)
            case _:
                pass  # what the server does on its own account is not ours to run or to show

    # -------------------------------------------------------------------------------------------- text

    def _text(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        if wire.delta:
            self._say(self._find(wire, "message", into), wire.content_index, wire.delta, into)

    def _refusal(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        self._is_refusal = True
        self._text(wire, into)

    def _say(self, opened: OpenItem, part: int, text: str, into: list[AnyModelEvent]) -> None:
        block = opened.block
        if block is not None and block.part != part:
            self._stop_text(block, into)
            block = None
        if block is None:
            block = opened.block = OpenBlock("text", self._new_index(), part)
            opened.has_shown = True
            into.append(BlockStart(block.index, "text"))
        block.pieces.append(text)
        into.append(TextDelta(block.index, text))

    def _stop_text(self, block: OpenBlock, into: list[AnyModelEvent]) -> None:
        into.append(BlockStop(block.index, Text(block.text)))

    def _finish_message(self, opened: OpenItem, item: WireItem, into: list[AnyModelEvent]) -> None:
        parts = item.content or []
        self._is_refusal = self._is_refusal or any(part.refusal for part in parts)
        if not opened.has_shown:
            for place, part in enumerate(parts):
                if text := part.text or part.refusal:
                    self._say(opened, place, text, into)
        if opened.block is not None:
            self._stop_text(opened.block, into)

    # -------------------------------------------------------------------------------------------- reasoning

    def _summary(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        self._think(wire, wire.summary_index, into)

    def _reasoning_text(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        self._think(wire, wire.content_index, into)

    def _think(self, wire: WireEvent, part: int, into: list[AnyModelEvent]) -> None:
        if not wire.delta:
            return
        opened = self._find(wire, "reasoning", into)
        block = opened.block
        if block is None:
            block = opened.block = OpenBlock("thinking", self._new_index(), part)
            into.append(BlockStart(block.index, "thinking"))
        text = wire.delta if block.part == part else PART_BREAK + wire.delta
        block.part = part
        block.pieces.append(text)
        into.append(ThinkingDelta(block.index, text))

    def _finish_reasoning(self, opened: OpenItem, item: WireItem, into: list[AnyModelEvent]) -> None:
        state = reasoning_state(item, self._facts)
        block = opened.block
        if block is None:
            text = joined(item.summary) or joined(item.content)
            if not text:
                if state is not None:
                    index = self._new_index()
                    into += [
                        BlockStart(index, "redacted_thinking"),
                        BlockStop(index, RedactedThinking(state)),
                    ]
                return
            block = OpenBlock("thinking", self._new_index(), pieces=[text])
            into += [BlockStart(block.index, "thinking"), ThinkingDelta(block.index, text)]
        into.append(BlockStop(block.index, Thinking(block.text, state)))

    # -------------------------------------------------------------------------------------------- searches

    def _finish_search(self, item: WireItem, into: list[AnyModelEvent]) -> None:
        """The usage of this wire does not count them."""
        self._searches += search_action(item).type == "search"
        index = self._new_index()
        into += [BlockStart(index, "server_block"), BlockStop(index, search_block(item, self._facts))]

    # -------------------------------------------------------------------------------------------- calls

    def _arguments(self, wire: WireEvent, into: list[AnyModelEvent]) -> None:
        if not wire.delta:
            return
        block = self._find(wire, "function_call", into).block
        if block is None or block.kind != "tool_use":
            return
        block.pieces.append(wire.delta)
        if block.index >= 0:
            into.append(InputJsonDelta(block.index, wire.delta))

    def _start_call(self, block: OpenBlock, into: list[AnyModelEvent]) -> None:
        block.index = self._new_index()
        block.tool_use_id = self._call_ids.take(
            block.call_id, response_id=self._response_id, index=block.index
        )
        into.append(BlockStart(block.index, "tool_use", block.tool_use_id, legal_name(block.name)))
        if block.pieces:
            into.append(InputJsonDelta(block.index, block.text))

    def _finish_call(self, opened: OpenItem, item: WireItem, into: list[AnyModelEvent]) -> None:
        block = opened.block or OpenBlock("tool_use")
        block.name = block.name or item.name or ""
        block.call_id = block.call_id or item.call_id or ""
        self._done_calls.add(call_id_of(item) or block.call_id)
        given = item.arguments
        arguments = given if isinstance(given, str) else encode(given).decode() if given is not None else ""
        if arguments and not block.pieces:
            block.pieces.append(arguments)
            if block.index >= 0:
                into.append(InputJsonDelta(block.index, arguments))
        self._stop_call(block, arguments or block.text, into)

    def _stop_call(self, block: OpenBlock, arguments: str, into: list[AnyModelEvent]) -> None:
        if block.index < 0:
            self._start_call(block, into)
        finished = self._call_ids.finish(block.tool_use_id, block.name, arguments)
        if finished.invalid_input is not None or not arguments.strip():
            # Cut at the output limit, or just so? What comes next tells.
            block.pieces = [arguments]
            self._undecided.append(block)
            return
        self._has_calls = True
        into.append(BlockStop(block.index, finished))

    def _release_undecided(self, into: list[AnyModelEvent]) -> None:
        blocks, self._undecided = self._undecided, []
        for block in blocks:
            self._has_calls = True
            into.append(
                BlockStop(block.index, self._call_ids.finish(block.tool_use_id, block.name, block.text))
            )

    # -------------------------------------------------------------------------------------------- counts

    def _new_index(self) -> int:
        index, self._next_index = self._next_index, self._next_index + 1
        return index

    def _add_usage(self, usage: WireUsage | None) -> None:
        """Into counts apart: this wire has the cached tokens inside those of the input."""
        if usage is None:
            return
        input_details, output_details = usage.input_tokens_details, usage.output_tokens_details
        cached = (input_details and input_details.cached_tokens) or 0
        written = (input_details and input_details.cache_write_tokens) or 0
        known = self._usage
        self._usage = Usage(
            max(usage.input_tokens - cached - written, 0) if usage.input_tokens else known.input_tokens,
            usage.output_tokens or known.output_tokens,
            cached or known.cache_read_input_tokens,
            written or known.cache_creation_input_tokens,
            (output_details and output_details.reasoning_tokens) or known.reasoning_tokens,
        )


class OpenAIResponsesModel(OpenAIModel):
    """The model behind `/responses`."""

    wire = OpenAIWire(
        "v1/responses",
        ResponsesBodies,
        lambda facts, request: OpenAIResponsesReply(facts, CallIds(request.messages)),
    )
