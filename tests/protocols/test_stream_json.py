"""Events become the messages that existing clients read: init first, a message a block, one result last."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.cli.events import denial, ended, ran, refused, reply

from ostinato.engine.costs import cost_usd
from ostinato.engine.result_account import ResultAccount
from ostinato.errors import ModelError
from ostinato.events import (
    LIMITS_REACHED,
    AssistantEvent,
    Event,
    StreamEvent,
    SystemEvent,
    Terminal,
    TerminalReason,
    Tombstone,
    UserEvent,
)
from ostinato.loop.attempt_notices import heartbeat_notice, retry_notice
from ostinato.loop.compaction_notices import summarised_notice, summarising_notice
from ostinato.messages import (
    Image,
    SystemMessage,
    Text,
    ToolResult,
    Usage,
    api_error_message,
    meta_prompt,
    tool_result_message,
)
from ostinato.ports import Prices
from ostinato.protocols.json_lines import MAX_LINE_BYTES, json_document, json_line
from ostinato.protocols.stream_json import StreamedSession, StreamJson
from ostinato.testing import SCRIPTED_FACTS, CountingIds, call, say, think, think_hidden

READ = call("Read", "t1", file_path="a.py")
PRICES = Prices(input=1.0, output=2.0, cache_read=0.1, cache_write=1.25)
Messages = list[dict[str, Any]]


def play(
    events: Iterable[Event],
    *,
    partial: bool = False,
    prices: Prices | None = PRICES,
    times_s: Sequence[float] = (),
) -> Messages:
    """Every message of a session, decoded from its line."""
    numbers, times = iter(range(10_000)), iter(times_s)
    facts = replace(SCRIPTED_FACTS, prices=prices)
    stream = StreamJson(
        StreamedSession("s", "/w", facts, ("Read", "Bash"), "plan", "ANTHROPIC_API_KEY"),
        new_uuid=lambda: f"uuid {next(numbers)}",
        include_partial_messages=partial,
    )
    account = ResultAccount(facts.id, {facts.id: facts}.get, lambda: next(times, 0.0))
    messages = [stream.init_message()]
    for event in events:
        account.take(event)
        messages.extend(stream.messages(event))
        if isinstance(event, Terminal):
            messages.extend(stream.messages(account.result(event, "s", "the result")))
    return [msgspec.json.decode(json_line(message), type=dict[str, Any]) for message in messages]


def result(terminal: Terminal, *before: Event) -> dict[str, Any]:
    return play([*before, terminal])[-1]


def test_init_tells_what_a_client_wants_to_know_first():
    init = play([])[0]
    assert (init["type"], init["subtype"], init["session_id"], init["cwd"]) == ("system", "init", "s", "/w")
    assert (init["tools"], init["model"], init["permissionMode"]) == (["Read", "Bash"], "scripted-1", "plan")
    assert init["apiKeySource"] == "ANTHROPIC_API_KEY"
    for name in ("mcp_servers", "slash_commands", "agents", "skills", "plugins", "capabilities"):
        assert init[name] == []
    version = [int(part) for part in init["claude_code_version"].split(".")]
    assert version >= [2, 1, 248]


def test_each_block_is_a_message_and_a_response_shares_its_id():
    messages = play(reply(1, think("hm", signature="sig"), say("I look."), READ))[1:]
    assert [message["message"]["id"] for message in messages] == ["msg_1"] * 3
    assert [message["message"]["content"] for message in messages] == [
        [{"type": "thinking", "thinking": "hm", "signature": "sig"}],
        [{"type": "text", "text": "I look."}],
        [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}}],
    ]
    for message in messages:
        assert message["message"]["stop_reason"] is None
        assert message["message"]["usage"]["input_tokens"] == 100
        assert message["parent_tool_use_id"] is None
        assert message["session_id"] == "s"
    assert len({message["uuid"] for message in messages}) == 3


def test_a_tool_result_carries_its_structured_account():
    (plain,) = play(ran(READ, "text"))[1:]
    (shown,) = play(ran(READ, "text", {"diff": "+x"}))[1:]
    assert plain["message"]["content"] == [{"type": "tool_result", "tool_use_id": "t1", "content": "text"}]
    assert plain["tool_use_result"] == {"text": "text"}
    assert shown["tool_use_result"] == {"diff": "+x"}
    (part,) = play(ran(READ, "text", {"is_incomplete": True}))[1:]
    assert part["tool_use_result"] == {"text": "text", "is_incomplete": True}


def test_a_failed_call_and_an_image_keep_their_form():
    content = (Text("see"), Image("image/png", "AAAA"))
    message = tool_result_message("u", ToolResult("t1", content, is_error=True))
    (told,) = play([UserEvent(message)])[1:]
    (block,) = told["message"]["content"]
    assert block["is_error"] is True
    assert block["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}


def test_what_the_engine_says_as_the_user_is_marked():
    (told,) = play([UserEvent(meta_prompt("u", "[interrupted]", origin="interruption"))])[1:]
    assert told["isSynthetic"] is True


def test_notices_and_tombstones_are_messages_of_their_own():
    events = [
        SystemEvent(SystemMessage("u", "notice", "careful")),
        Tombstone("msg_1/0"),
        *reply(2, say("again")),
    ]
    notice, gone, again = play(events)[1:]
    assert (notice["type"], notice["subtype"], notice["content"]) == ("system", "notice", "careful")
    assert (gone["type"], gone["message_uuid"]) == ("tombstone", "msg_1/0")
    assert again["supersedes"] == ["msg_1/0"]


def test_a_wait_before_a_retry_is_told_in_the_fields_that_clients_read():
    error = ModelError("too busy", kind="overloaded", status=529, retry=True)
    waiting = retry_notice("u", error, 1.25, attempt=3, max_retries=9)
    (told,) = play([SystemEvent(waiting)])[1:]
    fields = ("subtype", "attempt", "max_retries", "retry_delay_ms", "error_status", "error")
    assert [told[name] for name in fields] == ["api_retry", 2, 9, 1250, 529, "overloaded"]


def test_a_wait_without_a_status_says_null_and_a_sign_of_life_says_why_too():
    error = ModelError("no network", kind="connection", retry=True)
    (told,) = play([SystemEvent(retry_notice("u", error, 0.5, attempt=2, max_retries=9))])[1:]
    assert told["error_status"] is None
    assert told["error"] == "unknown"
    busy = ModelError("too busy", kind="rate_limit", status=429, retry=True)
    (alive,) = play([SystemEvent(heartbeat_notice("u", busy, 90))])[1:]
    assert (alive["retry_delay_ms"], alive["error_status"], alive["error"]) == (90_000, 429, "rate_limit")


def test_while_a_summary_is_written_clients_are_told_the_state_and_its_end():
    ids = CountingIds()
    begun, over = play([SystemEvent(summarising_notice(ids)), SystemEvent(summarised_notice(ids))])[1:]
    assert [(told["subtype"], told["status"]) for told in (begun, over)] == [
        ("status", "compacting"),
        ("status", None),
    ]


def test_what_a_notice_says_to_programs_stands_beside_its_text_and_never_over_it():
    metadata = {"trigger": "auto", "pre_tokens": 99}
    data = {"compact_metadata": metadata, "type": "result", "content": "", "session_id": "x", "uuid": "y"}
    (told,) = play([SystemEvent(SystemMessage("u", "compact_boundary", "shorter now", data=data))])[1:]
    assert told["compact_metadata"] == metadata
    fields = ("type", "subtype", "content", "uuid")
    assert [told[name] for name in fields] == ["system", "compact_boundary", "shorter now", "u"]
    assert told["session_id"] != "x"


# ------------------------------------------------------------------------------------------------ partial messages


def raw(*events: Event) -> Messages:
    return [message["event"] for message in play(events, partial=True) if message["type"] == "stream_event"]


def test_stream_events_come_only_when_asked_for():
    assert "stream_event" not in {message["type"] for message in play(reply(1, say("a")))}


def test_raw_events_are_those_of_the_messages_api():
    events = raw(*reply(1, say("hello"), READ))
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0]["message"]["content"] == []
    assert events[4]["content_block"] == {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    assert "".join(event["delta"]["partial_json"] for event in events[5:8]) == '{"file_path":"a.py"}'
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert events[-2]["usage"]["output_tokens"] == 20


def test_a_signature_is_a_delta_and_hidden_thinking_starts_with_its_data():
    events = raw(*reply(1, think("hm", signature="sig"), think_hidden("secret")))
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    starts = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert deltas[-1] == {"type": "signature_delta", "signature": "sig"}
    assert starts == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "redacted_thinking", "data": "secret"},
    ]


def test_an_sdk_can_put_a_reply_together_from_its_raw_events():
    """Every start has its stop, and deltas only come between them."""
    is_open: set[int] = set()
    for event in raw(*reply(1, think("hm"), say("a"), READ, think_hidden("x"))):
        match event["type"]:
            case "content_block_start":
                is_open.add(event["index"])
            case "content_block_delta":
                assert event["index"] in is_open
            case "content_block_stop":
                is_open.remove(event["index"])
            case _:
                assert not is_open


# ------------------------------------------------------------------------------------------------ the result


def test_success_carries_the_answer_and_what_it_cost():
    events = [*reply(1, say("I look."), READ), *ran(READ, "x"), *reply(2, say("fine"))]
    told = result(ended(responses=2), *events)
    assert (told["type"], told["subtype"], told["is_error"], told["result"]) == (
        "result",
        "success",
        False,
        "fine",
    )
    assert (told["num_turns"], told["stop_reason"], told["terminal_reason"]) == (2, "end_turn", "completed")
    assert told["usage"]["output_tokens"] == 40
    assert told["modelUsage"]["scripted-1"]["inputTokens"] == 200
    assert told["modelUsage"]["scripted-1"]["contextWindow"] == 200_000
    assert told["total_cost_usd"] == pytest.approx((200 * 1.0 + 40 * 2.0) / 1e6)
    assert told["cost_is_known"] is True
    assert told["permission_denials"] == []


def test_an_unknown_price_is_zero_and_said_to_be_unknown():
    told = play([*reply(1, say("a")), ended()], prices=None)[-1]
    assert (told["total_cost_usd"], told["cost_is_known"]) == (0, False)


def test_usage_of_a_reply_that_broke_off_is_counted():
    told = result(ended("aborted_streaming", responses=2), *reply(1, say("a")))
    assert told["modelUsage"]["scripted-1"]["outputTokens"] == 40


def test_time_at_the_model_is_told_apart():
    events = [*reply(1, say("a")), ended()]
    told = play(events, times_s=[0.0, 1.0, 3.0, 10.0])[-1]
    assert (told["duration_ms"], told["duration_api_ms"]) == (10_000, 2_000)


def test_denials_are_listed():
    write = call("Write", "w", file_path="x")
    told = result(ended(denials=[denial(write)]), *reply(1, write), *refused(write))
    assert told["permission_denials"] == [
        {
            "tool_name": "Write",
            "tool_use_id": "w",
            "tool_input": {"file_path": "x"},
            "reason": "nobody can be asked",
        }
    ]


@pytest.mark.parametrize(
    ("reason", "subtype"),
    [
        ("max_turns", "error_max_turns"),
        ("structured_output_retry_exhausted", "error_max_structured_output_retries"),
        ("aborted_streaming", "error_during_execution"),
        ("aborted_tools", "error_during_execution"),
        ("blocking_limit", "error_during_execution"),
        ("rapid_refill_breaker", "error_during_execution"),
        ("malformed_tool_use_exhausted", "error_during_execution"),
        ("no_progress", "error_during_execution"),
    ],
)
def test_an_early_end_has_errors_and_a_result_only_where_a_limit_ended_the_work(
    reason: TerminalReason, subtype: str
):
    told = result(ended(reason), *reply(1, say("half")))
    assert (told["subtype"], told["is_error"], told["terminal_reason"]) == (subtype, True, reason)
    assert told["errors"]
    assert told.get("result") == ("half" if reason in LIMITS_REACHED else None)


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [
        ("budget_usd", "error_max_budget_usd"),
        ("budget_tokens", "error_during_execution"),
        ("budget_time", "error_during_execution"),
    ],
)
def test_only_a_limit_in_dollars_is_called_one(kind: str, subtype: str):
    told = result(ended("budget_exhausted", error="it is over", error_kind=kind), *reply(1, say("half")))
    assert (told["subtype"], told["terminal_reason"]) == (subtype, "budget_exhausted")
    assert (told["is_error"], told["result"]) == (True, "half")
    assert told["errors"][0].startswith("it is over")


@pytest.mark.parametrize("reason", ["hook_stopped", "stop_hook_prevented", "tool_deferred"])
def test_a_stop_that_a_hook_wanted_is_a_success(reason: TerminalReason):
    told = result(ended(reason), *reply(1, say("half")))
    assert (told["subtype"], told["is_error"], told["result"]) == ("success", False, "half")


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("authentication", "authentication_failed"),
        ("rate_limit", "rate_limit"),
        ("not_found", "model_not_found"),
        ("connection", "unknown"),
    ],
)
def test_a_failed_model_call_has_the_form_its_clients_know(kind: str, word: str):
    note = AssistantEvent(api_error_message("n", "scripted-1", "no"))
    *_, assistant, told = play([note, ended("model_error", error="no", error_kind=kind, status=401)])
    assert (assistant["error"], assistant["message"]["content"][0]["text"]) == (word, "no")
    assert (told["subtype"], told["is_error"], told["terminal_reason"]) == ("success", True, "api_error")
    assert (told["result"], told["api_error_status"]) == ("no", 401)


def test_a_fault_of_ours_is_no_api_error():
    told = result(ended("model_error", error="KeyError: 'x'", error_kind="internal"))
    assert (told["subtype"], told["terminal_reason"]) == ("error_during_execution", "model_error")


def test_a_cut_answer_is_marked_and_still_the_result():
    note = AssistantEvent(api_error_message("n", "m", "cut"))
    *_, assistant, told = play([*reply(1, say("half")), note, ended()])
    assert assistant["error"] == "max_output_tokens"
    assert (told["subtype"], told["result"]) == ("success", "half")


def test_costs_count_cache_tokens_at_their_own_price():
    usage = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert cost_usd(usage, PRICES) == pytest.approx(4.35)


# ------------------------------------------------------------------------------------------------ lines


def test_a_line_is_never_too_long_for_a_reader_and_still_json():
    big = "x" * 3_000_000
    image = {"type": "image", "source": {"data": big}}
    many: dict[str, object] = {f"key {number}": "y" * 90 for number in range(30_000)}
    messages: list[dict[str, object]] = [
        {"type": "t", "a": big},
        {"type": "t", "list": [{"text": big}] * 5},
        {"type": "t", "content": [image]},
        {"type": "t", "list": ["y" * 90] * 30_000},
        {"type": "t", "input": many},
    ]
    for message in messages:
        line = json_line(message)
        assert len(line) <= MAX_LINE_BYTES
        assert msgspec.json.decode(line, type=dict[str, object])["type"] == "t"


def test_the_one_result_document_is_never_cut():
    big = "x" * 3_000_000
    assert msgspec.json.decode(json_document({"result": big})) == {"result": big}


def test_half_a_code_point_does_not_break_a_line():
    assert msgspec.json.decode(json_line({"a": ["\ud800b"]})) == {"a": ["?b"]}


def test_a_line_is_one_line():
    assert json_line({"a": "x\ny\u2028z"}).count(b"\n") == 1


def test_deltas_of_a_stream_are_not_stored_twice():
    """A message for a block comes once, however many deltas brought it."""
    messages = play([event for event in reply(1, say("a" * 100)) if not isinstance(event, StreamEvent)])
    assert len(messages) == 2


def test_json_on_a_terminal_does_nothing():
    """Seven-bit controls are escaped by JSON itself; the eight-bit ones are not."""
    text = "".join(map(chr, range(0xA0))) + "é\u0080"
    for line in (json_line({"a": text}), json_document({"a": text})):
        assert not [one for one in line.decode()[:-1] if one < " " or "\x80" <= one <= "\x9f"]
        assert msgspec.json.decode(line) == {"a": text}
