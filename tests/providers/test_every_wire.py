"""What a reply becomes on every wire alike: legal framings, cuts, arguments, ids and names that no request may hold."""

from collections.abc import Callable, Mapping

import pytest
from tests.providers.requests import blocks_of, decode, failure_while_decoding
from tests.providers.wires import WIRES, Call

from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent, BlockStart
from ostinato.messages import Text, ToolUse
from ostinato.ports import RequestMessage

every_wire = pytest.mark.parametrize("wire", WIRES)

FRAMINGS: Mapping[str, Callable[[bytes], bytes]] = {
    "no space": lambda stream: stream.replace(b"data: ", b"data:").replace(b"event: ", b"event:"),
    "comments": lambda stream: b": hello\n\n" + stream.replace(b"\n\n", b"\n\n: beat\n\n"),
    "byte order mark": lambda stream: b"\xef\xbb\xbf" + stream,
    "no last blank line": lambda stream: stream.rstrip(b"\n"),
    "no event names": lambda stream: b"\n".join(line for line in stream.split(b"\n") if line[:6] != b"event:"),
    "nothing that only marks the end": lambda stream: stream.removesuffix(b"data: [DONE]\n\n"),
}  # fmt: skip


@every_wire
@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_legal_framing_gives_the_same_events_at_every_cut(wire: str, framing: str):
    chosen = WIRES[wire]
    expected = decode(chosen.decoder(()), [chosen.golden])
    stream = FRAMINGS[framing](chosen.golden)
    for size in (1, 2, 3, 7, len(stream)):
        chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert decode(chosen.decoder(()), chunks) == expected


@every_wire
def test_a_stream_without_its_end_is_a_cut_and_may_be_sent_again(wire: str):
    chosen = WIRES[wire]
    places = [(chosen.simple, place) for place in range(chosen.simple.index(chosen.end))]
    last = chosen.golden.index(chosen.end)
    places += [(chosen.golden, place) for place in range(last) if chosen.golden[:place].endswith(b"\n\n")]
    for stream, place in places:
        error = failure_while_decoding(chosen.decoder(()), [stream[:place]])
        assert (error.kind, error.retry) == ("stream_cut", True), place


@every_wire
def test_an_open_call_is_never_stopped(wire: str):
    stream = WIRES[wire].calls([Call("call_1", "Read", ['{"path": "a"}', " "])])
    got: list[AnyModelEvent] = []
    end = stream.index(b"\n\n", stream.index(rb"\"a\"")) + 2
    error = failure_while_decoding(WIRES[wire].decoder(()), [stream[:end]], into=got)
    assert (error.kind, blocks_of(got)) == ("stream_cut", [])


@every_wire
def test_errors_are_model_errors_only(wire: str):
    with pytest.raises(ModelError):
        decode(WIRES[wire].decoder(()), [b""])


@every_wire
@pytest.mark.parametrize("data", [b"{", b"[]", b'{"type":', b"<html>", b'{"x":' + b"[" * 100_000])
def test_an_event_that_cannot_be_read_is_a_malformed_response(wire: str, data: bytes):
    error = failure_while_decoding(WIRES[wire].decoder(()), [b"data: %s\n\n" % data, b"data: {}\n\n"])
    assert error.kind == "malformed_response"


@every_wire
def test_nothing_after_the_end_of_the_reply_counts(wire: str):
    chosen = WIRES[wire]
    late = b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "late"}}\n\n'
    assert decode(chosen.decoder(()), [chosen.simple + late]) == decode(chosen.decoder(()), [chosen.simple])


# ------------------------------------------------------------------------------------------------ arguments

TOO_DEEP = ['{"a":' * depth + "1" + "}" * depth for depth in (102, 800, 100_000)]


@every_wire
@pytest.mark.parametrize(
    "raw", ['{"path": "a', "[1]", '"text"', "nonsense", '{"a":1}{"b":2}', "[" * 100_000, *TOO_DEEP]
)
def test_arguments_that_are_no_json_object_are_kept_as_invalid_never_run(wire: str, raw: str):
    assert WIRES[wire].said(Call("call_1", "Read", [raw]))[0] == [
        ToolUse("call_1", "Read", {}, invalid_input=raw)
    ]


@every_wire
def test_invalid_arguments_do_not_change_the_order_of_calls(wire: str):
    blocks, _ = WIRES[wire].said(Call("a", "Read", ["oops"]), Call("b", "Read", ["{}"]))
    assert blocks == [ToolUse("a", "Read", {}, invalid_input="oops"), ToolUse("b", "Read", {})]


@every_wire
@pytest.mark.parametrize("pieces", [[], [""], ["  "], ["{", "}"]])
def test_a_call_without_arguments_has_an_empty_input(wire: str, pieces: list[str]):
    assert WIRES[wire].said(Call("call_1", "Read", pieces))[0] == [ToolUse("call_1", "Read", {})]


# ------------------------------------------------------------------------------------------------ ids and names


@every_wire
@pytest.mark.parametrize("call_id", ["", "a b", "taken", "taken_2\n", "x" * 65, "ü"])
def test_an_id_that_is_empty_illegal_or_taken_is_replaced_by_a_stable_one(wire: str, call_id: str):
    history = (RequestMessage("assistant", (ToolUse("taken", "Read", {}),)),)
    blocks, _ = WIRES[wire].said(Call(call_id, "Read", ["{}"]), after=history)
    # An item of the Responses wire has another id of its own.
    stable = "fc_0" if wire == "responses" and not call_id else f"call_{WIRES[wire].response_id}_0"
    assert blocks == [ToolUse(stable, "Read", {})]


@every_wire
@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("", "unnamed_tool"),
        ("we ird\n", "we_ird_"),
        ("mcp.read/file", "mcp_read_file"),
        ("ü", "_"),
        ("x" * 500, "x" * 64),
        ("Read", "Read"),
    ],
)
def test_a_name_that_no_request_may_hold_is_replaced_so_that_the_call_can_be_answered(
    wire: str, name: str, legal: str
):
    blocks, events = WIRES[wire].said(Call("call_1", name, ["{}"]))
    assert blocks == [ToolUse("call_1", legal, {})]
    starts = [event for event in events if isinstance(event, BlockStart)]
    assert [(start.block_type, start.tool_use_id, start.name) for start in starts] == [
        ("tool_use", "call_1", legal)
    ]


@every_wire
def test_text_of_the_simple_reply_is_all_it_says(wire: str):
    assert blocks_of(decode(WIRES[wire].decoder(()), [WIRES[wire].simple])) == [Text("hi")]
