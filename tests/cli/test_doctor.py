"""`ostinato doctor` and `ostinato models` as real processes: every line is well, to know of, or does not work, and no key shows."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Desk

from ostinato.cli.doctor.check import masked_key
from ostinato.sandbox.process_status import lacking_right
from ostinato.testing import Reply, StrictServer, say

pytestmark = pytest.mark.process

KEY = "sk-ant-api03-abcdefghijklmnop-wxyz"


class ModelServer:
    """Answers `GET /v1/models`, and notes the headers it was sent by path."""

    def __init__(
        self, body: bytes = b'{"data":[{"id":"qwen"},{"id":"a\\u001b[2Jb"}]}', status: int = 200
    ) -> None:
        self.headers: dict[str, dict[str, str]] = {}
        scene = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                scene.headers[self.path] = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # ruff: ignore[builtin-argument-shadowing] - the name it overrides
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Generator["ModelServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def checks(desk: Desk, *arguments: str, **changes: str | None) -> tuple[int, dict[str, dict[str, str]]]:
    ended = desk.run("doctor", "--json", *arguments, environment=desk.environment(**changes))
    assert ended.err == ""
    return ended.code, {check["name"]: check for check in json.loads(ended.out)["checks"]}


def test_where_all_is_well_the_code_is_0_and_the_key_is_neither_shown_nor_sent(tmp_path: Path):
    with ModelServer().running() as server:
        desk = Desk(tmp_path, server.url, extra={"ANTHROPIC_API_KEY": KEY, "LANG": "C.UTF-8"})
        ended = desk.run("doctor")
    assert ended.code == 0
    assert "ok    endpoint" in ended.text
    assert KEY not in ended.text
    assert "…wxyz" in ended.text
    assert not {"x-api-key", "authorization"} & set(server.headers["/"])


def test_a_server_that_does_not_answer_fails_with_a_hint(tmp_path: Path):
    code, found = checks(Desk(tmp_path))
    assert code == 1
    assert (found["endpoint"]["status"], bool(found["endpoint"]["hint"])) == ("fail", True)


def test_without_any_key_the_model_fails_and_the_rest_is_looked_at(tmp_path: Path):
    code, found = checks(Desk(tmp_path), ANTHROPIC_API_KEY=None, ANTHROPIC_BASE_URL=None)
    assert code == 1
    assert found["model"]["status"] == "fail"
    assert found["ripgrep"]["status"] == found["git"]["status"] == found["data"]["status"] == "ok"


def test_a_command_that_gives_the_key_is_named_and_not_run(tmp_path: Path):
    with ModelServer().running() as server:
        desk = Desk(tmp_path, server.url)
        (desk.home / ".ostinato").mkdir()
        (desk.home / ".ostinato/settings.json").write_text('{"apiKeyHelper": "touch ran; echo key"}')
        code, found = checks(desk, ANTHROPIC_API_KEY=None)
        assert "apiKeyHelper" not in checks(desk)[1]  # there is a key: nobody would ask
    assert (code, found["model"]["status"], found["apiKeyHelper"]["status"]) == (0, "ok", "ok")
    assert "touch ran" in found["apiKeyHelper"]["text"]
    assert "keys" not in found
    assert not {"x-api-key", "authorization"} & set(server.headers["/"])
    assert list(desk.root.rglob("ran")) == []


def test_the_key_command_of_a_folder_that_is_not_trusted_is_no_key(tmp_path: Path):
    desk = Desk(tmp_path)
    (desk.work / ".ostinato").mkdir()
    (desk.work / ".ostinato/settings.json").write_text('{"apiKeyHelper": "echo key"}')
    code, found = checks(desk, ANTHROPIC_API_KEY=None, ANTHROPIC_BASE_URL=None)
    assert (code, found["model"]["status"], found["keys"]["status"]) == (1, "fail", "warn")
    assert "apiKeyHelper" not in found


def test_settings_that_are_broken_or_wait_for_trust_are_named(tmp_path: Path):
    with ModelServer().running() as server:
        desk = Desk(tmp_path, server.url)
        (desk.work / ".ostinato").mkdir()
        (desk.work / ".ostinato/settings.json").write_text(
            '{"permissions": {"allow": ["Bash(ls)"]}, "maxTurns": "x"}'
        )
        code, found = checks(desk)
    assert code == 0
    assert found["settings"]["status"] == found["trust"]["status"] == "warn"


def test_a_home_that_cannot_be_is_to_know_of(tmp_path: Path):
    with ModelServer().running() as server:
        code, found = checks(Desk(tmp_path, server.url), HOME=None)
    assert (code, found["data"]["status"]) == (0, "warn")


def test_the_local_model_fails_only_where_it_is_chosen(tmp_path: Path):
    with ModelServer().running() as server:
        desk = Desk(tmp_path, server.url)
        assert checks(desk)[1]["local model"]["status"] == "ok"
        code, found = checks(desk, "--model", "local")
    assert (code, found["local model"]["status"]) == (1, "fail")


def test_a_damaged_session_is_named(tmp_path: Path):
    with StrictServer(Reply(say("hello"))) as model:
        desk = Desk(tmp_path, model.url)
        assert desk.run("-p", "hi").code == 0
    with ModelServer().running() as server:
        desk.url = server.url
        assert checks(desk)[1]["sessions"]["status"] == "ok"
        content = desk.sessions[0].read_bytes()
        desk.sessions[0].write_bytes(content[:-20] + b"damaged" + content[-20:])
        assert checks(desk)[1]["sessions"]["status"] == "warn"


def test_passwords_in_addresses_are_not_shown(tmp_path: Path):
    addresses = {
        "https_proxy": "http://me:geheim@127.0.0.1:1",
        "ANTHROPIC_BASE_URL": "http://me:geheim@127.0.0.1:1",
    }
    desk = Desk(tmp_path, extra=addresses)
    ended = desk.run("doctor")
    assert "cannot reach" in ended.text
    assert "geheim" not in ended.text
    assert "https_proxy" in ended.text


@pytest.mark.parametrize(("key", "shown"), [("short", "set"), (KEY, "…wxyz")])
def test_a_key_is_masked(key: str, shown: str):
    assert masked_key(key) == shown


# ------------------------------------------------------------------------------------------------ models


def test_models_say_which_are_ready_and_what_a_server_has(tmp_path: Path):
    with ModelServer().running() as server:
        desk = Desk(tmp_path, extra={"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"})
        ended = desk.run(
            "models", "--json", environment=desk.environment(ANTHROPIC_BASE_URL=None, ANTHROPIC_API_KEY=None)
        )
    answer = json.loads(ended.out)
    ready = {model["name"]: model["is_ready"] for model in answer["models"]}
    assert (ready["openai/gpt-6.1-sol"], ready["anthropic/claude-sonnet-5-5"], ready["local"]) == (
        True,
        False,
        False,
    )
    assert [found["models"] for found in answer["servers"]] == [["qwen", "a\x1b[2Jb"]]
    assert server.headers["/v1/models"]["authorization"] == "Bearer k"


def test_the_text_draws_nothing_of_a_server_on_the_terminal(tmp_path: Path):
    with ModelServer().running() as server:
        ended = Desk(tmp_path, server.url).run("models")
    assert ended.code == 0
    assert "anthropic/qwen" in ended.text
    assert "\x1b" not in ended.text


@pytest.mark.parametrize(("body", "status"), [(b"<html>", 200), (b"{}", 404), (b"[" * 100_000, 200)])
def test_a_server_that_says_nothing_useful_is_a_remark(body: bytes, status: int, tmp_path: Path):
    with ModelServer(body, status).running() as server:
        ended = Desk(tmp_path, server.url).run("models", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["servers"][0]["problem"]


def test_it_says_whether_commands_have_process_ids_of_their_own_and_why_not(tmp_path: Path):
    with ModelServer().running() as server:
        desk = Desk(tmp_path, server.url)
        _, on = checks(desk)
        _, off = checks(desk, OSTINATO_PID_NAMESPACE="0")
    assert "pidNamespace" in off["process ids"]["text"]
    reason = lacking_right()
    assert (reason in on["process ids"]["text"]) if reason else on != off
