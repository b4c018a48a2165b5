"""The strict server speaks both wires, refuses in their shapes, and remembers what it was asked."""

import json
import threading
import time
from typing import Any

import pytest
from tests.testing.raw_client import CHAT, MESSAGES, PROMPT, STREAMED, RawClient, ask, data_of, head_of

from ostinato.errors import ModelError
from ostinato.messages import Usage
from ostinato.testing import (
    Cut,
    Fails,
    HttpError,
    RawStream,
    Reply,
    StrictServer,
    WireRules,
    call,
    say,
    think,
)

BOTH = pytest.mark.parametrize("path", [MESSAGES, CHAT])
USAGE = Usage(10, 5, 90)
REPLY = Reply(think("hm", signature="sig"), say("hello world"), call("Read", id="t1", path="a"), usage=USAGE)


def test_a_reply_streams_on_the_messages_wire() -> None:
    with StrictServer(REPLY) as server:
        status, body, end = ask(server.url, MESSAGES, STREAMED)
    data = data_of(body)
    assert (status, end) == (200, "complete")
    kinds = [one["type"] for one in data if one["type"] != "content_block_delta"]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds[1:-2] == ["content_block_start", "content_block_stop"] * 3
    deltas = [one["delta"] for one in data if one["type"] == "content_block_delta"]
    assert "".join(one.get("text", "") for one in deltas) == "hello world"
    assert "".join(one.get("partial_json", "") for one in deltas) == '{"path":"a"}'
    assert {"type": "signature_delta", "signature": "sig"} in deltas
    assert data[-2]["delta"]["stop_reason"] == "tool_use"
    assert data[-2]["usage"]["cache_read_input_tokens"] == 90


def test_a_reply_streams_on_the_chat_wire() -> None:
    with StrictServer(REPLY) as server:
        status, body, end = ask(server.url, CHAT, {**STREAMED, "stream_options": {"include_usage": True}})
    data = data_of(body)
    deltas: list[dict[str, Any]] = [one["choices"][0]["delta"] for one in data if one["choices"]]
    calls = [part for one in deltas for part in one.get("tool_calls", [])]
    assert (status, end) == (200, "complete")
    assert body.endswith(b"data: [DONE]\n\n")
    assert "".join(one.get("content", "") for one in deltas) == "hello world"
    assert "".join(one.get("reasoning_content", "") for one in deltas) == "hm"
    assert (calls[0]["index"], calls[0]["id"], calls[0]["function"]["name"]) == (0, "t1", "Read")
    assert "".join(one["function"]["arguments"] for one in calls) == '{"path":"a"}'
    assert data[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert data[-1]["usage"]["prompt_tokens"] == 100
    assert data[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 90}


def test_usage_is_in_a_chat_stream_only_when_asked_for() -> None:
    with StrictServer(Reply(say("a"))) as server:
        _, body, _ = ask(server.url, CHAT, STREAMED)
    assert not any("usage" in one for one in data_of(body))


def test_a_reply_comes_whole_without_streaming() -> None:
    with StrictServer(REPLY, Reply(call("Read", id="t2", path="a"))) as server:
        message = json.loads(ask(server.url, MESSAGES, PROMPT)[1])
        completion = json.loads(ask(server.url, CHAT, PROMPT)[1])
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][2]["input"] == {"path": "a"}
    assert message["stop_reason"] == "tool_use"
    choice = completion["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"path": "a"}


def test_an_illegal_request_is_refused_in_the_wires_own_shape_and_takes_no_turn() -> None:
    illegal = {**PROMPT, "messages": [{"role": "user", "content": " "}]}
    with StrictServer(Reply(say("a"))) as server:
        status, body, _ = ask(server.url, MESSAGES, illegal)
        chat_status, chat_body, _ = ask(server.url, CHAT, {**PROMPT, "messages": []})
        assert server.turns_left == 1
        assert [one.problems[0].rule for one in server.refused] == ["V3", "V3"]
        with pytest.raises(AssertionError, match="non-whitespace"):
            server.assert_clean()
    assert (status, chat_status) == (400, 400)
    assert json.loads(body)["error"]["type"] == "invalid_request_error"
    assert json.loads(body)["type"] == "error"
    assert set(json.loads(chat_body)["error"]) == {"message", "type", "param", "code"}


def test_a_request_too_long_is_refused_with_the_code_that_clients_look_for() -> None:
    long = {**PROMPT, "messages": [{"role": "user", "content": "x" * 8000}]}
    with StrictServer(rules=WireRules(context_window=1000)) as server:
        body = ask(server.url, MESSAGES, long)[1]
        chat_body = ask(server.url, CHAT, long)[1]
    assert json.loads(body)["error"]["message"].startswith("prompt is too long: ")
    assert json.loads(chat_body)["error"]["code"] == "context_length_exceeded"


def test_thinking_that_was_changed_is_refused() -> None:
    changed = [
        PROMPT["messages"][0],
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "ha", "signature": "sig"}, {"type": "text", "text": "a"}]},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip
    with StrictServer(REPLY, Reply(say("ok"))) as server:
        ask(server.url, MESSAGES, STREAMED)
        status, body, _ = ask(server.url, MESSAGES, {**STREAMED, "messages": changed})
    assert status == 400
    assert "signature" in json.loads(body)["error"]["message"]


def test_the_version_header_is_wanted_on_the_messages_wire() -> None:
    with StrictServer(Reply(say("a"))) as server:
        assert ask(server.url, MESSAGES, PROMPT, anthropic_version="")[0] == 400
        assert ask(server.url, CHAT, PROMPT, anthropic_version="")[0] == 200


@BOTH
def test_keys_and_models_are_checked_if_told_and_never_kept(path: str) -> None:
    with StrictServer(Reply(say("a")), accepts_keys=["right"], models=["m"]) as server:
        assert ask(server.url, path, PROMPT)[0] == 401
        assert ask(server.url, path, PROMPT, authorization="Bearer wrong")[0] == 401
        unknown = ask(server.url, path, {**PROMPT, "model": "other"}, authorization="Bearer right")
        assert unknown[0] == 404
        assert "other" in json.loads(unknown[1])["error"]["message"]
        assert ask(server.url, path, PROMPT, authorization="Bearer right")[0] == 200
        assert server.requests[-1].headers["authorization"] == "Bearer ***"
        assert "right" not in repr(server.requests)


def test_the_wires_own_words_for_a_wrong_key() -> None:
    with StrictServer(accepts_keys=["right"]) as server:
        body = json.loads(ask(server.url, MESSAGES, PROMPT, x_api_key="wrong")[1])
        chat_body = json.loads(ask(server.url, CHAT, PROMPT, authorization="Bearer wrong")[1])
    assert body["error"]["type"] == "authentication_error"
    assert chat_body["error"]["code"] == "invalid_api_key"


def test_an_unknown_path_is_not_found() -> None:
    with StrictServer(Reply(say("a"))) as server:
        assert ask(server.url, "/v1/v1/messages", PROMPT)[0] == 404
        assert server.turns_left == 1


def test_tokens_can_be_counted_without_a_turn() -> None:
    with StrictServer() as server:
        status, body, _ = ask(server.url, f"{MESSAGES}/count_tokens", PROMPT)
    assert status == 200
    assert json.loads(body)["input_tokens"] > 0


def test_a_function_can_be_the_script() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return Reply(say(f"{body['model']} {number}"))

    with StrictServer(script=script) as server:
        ask(server.url, MESSAGES, PROMPT)
        body = json.loads(ask(server.url, MESSAGES, PROMPT)[1])
    assert body["content"][0]["text"] == "m 2"


def test_a_request_beyond_the_script_is_refused_with_its_number() -> None:
    with StrictServer(Reply(say("a"))) as server:
        ask(server.url, MESSAGES, PROMPT)
        status, body, _ = ask(server.url, MESSAGES, PROMPT)
    assert status == 400
    assert "request 2" in json.loads(body)["error"]["message"]


def test_a_script_that_raises_is_not_hidden() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        raise ValueError("a slip in the test")

    with StrictServer(script=script) as server:
        assert ask(server.url, MESSAGES, PROMPT)[2] == "closed"
    with pytest.raises(AssertionError, match="slip"):
        server.assert_clean()


@BOTH
def test_a_failing_turn_answers_with_its_status(path: str) -> None:
    busy = ModelError("busy", kind="rate_limit", retry_after_s=2)
    with StrictServer(Fails(busy), Fails(busy), Fails(ModelError("gone", kind="connection"))) as server:
        status, body, _ = ask(server.url, path, PROMPT)
        assert (status, json.loads(body)["error"]["message"]) == (429, "busy")
        assert head_of(server.url, path, PROMPT)["retry-after"] == "2"
        assert ask(server.url, path, PROMPT) == (0, b"", "closed")


def test_any_answer_can_be_given() -> None:
    answer = HttpError(503, "<html>sorry</html>", {"x-should-retry": "false"}, content_type="text/html")
    raw = RawStream(b"data: not json\r\n\r\n")
    with StrictServer(answer, answer, HttpError(418, {"a": 1}), raw) as server:
        assert ask(server.url, MESSAGES, STREAMED)[:2] == (503, b"<html>sorry</html>")
        headers = head_of(server.url, MESSAGES, STREAMED)
        assert (headers["content-type"], headers["x-should-retry"]) == ("text/html", "false")
        assert ask(server.url, MESSAGES, STREAMED)[:2] == (418, b'{"a":1}')
        assert ask(server.url, MESSAGES, STREAMED) == (200, b"data: not json\r\n\r\n", "complete")


def test_an_error_can_come_inside_a_stream() -> None:
    broken = Cut(Reply(say("a")), after_blocks=1, error=ModelError("busy", kind="overloaded"))
    with StrictServer(broken, broken) as server:
        _, body, end = ask(server.url, MESSAGES, STREAMED)
        _, chat_body, _ = ask(server.url, CHAT, STREAMED)
    assert end == "complete"
    assert data_of(body)[-1]["error"]["type"] == "overloaded_error"
    assert b"event: error\n" in body
    assert data_of(chat_body)[-1]["error"]["message"] == "busy"


def test_one_connection_serves_many_requests() -> None:
    with StrictServer(Reply(say("a")), Reply(say("b"))) as server, RawClient(server.url) as client:
        for _ in range(2):
            client.send(MESSAGES, STREAMED)
            assert client.read_all()[1] == "complete"
        assert server.connections == 1
        assert len(server.bytes_sent) == 2


def test_requests_are_served_side_by_side() -> None:
    with StrictServer(*[Reply(say("a"))] * 20) as server:
        threads = [threading.Thread(target=ask, args=(server.url, MESSAGES, STREAMED)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        assert server.connections == 20
        assert server.turns_left == 0


@pytest.mark.parametrize("kind", ["idle", "mid_request"])
def test_the_server_stops_at_once_with_open_connections(kind: str) -> None:
    server = StrictServer(Reply(say("a")))
    with server, RawClient(server.url) as client:
        if kind == "idle":
            client.send(MESSAGES, STREAMED)
            client.read_all()
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 1
        assert server.open_connections == 0
        assert client.read_some() in {None, "reset"}
