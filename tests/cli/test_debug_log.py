"""The log of `--debug`: masked, to standard error or a file, and what is said only on request."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.command import Desk

from ostinato.cli.debug_request import DebugRequest, debug_request, without_bare_debug
from ostinato.secret_values import secret_values, without_secrets
from ostinato.testing import Reply, StrictServer, say

KEY = "sk-ant-api03-abcdefghijklmnop"


@pytest.mark.parametrize(
    ("argv", "environment", "expected"),
    [
        ([], {}, None),
        (["--debug"], {}, DebugRequest()),
        (["--debug=f"], {}, DebugRequest("f")),
        (["-p", "--debug", "--debug-content", "hi"], {}, DebugRequest("", has_content=True)),
        (["--", "--debug"], {}, None),
        ([], {"OSTINATO_DEBUG": "1"}, DebugRequest()),
        ([], {"OSTINATO_DEBUG": "0"}, None),
        (["--debug-content"], {}, None),
    ],
)
def test_what_asks_for_a_log(argv: list[str], environment: dict[str, str], expected: DebugRequest | None):
    assert debug_request(argv, environment) == expected


def test_a_bare_flag_takes_no_prompt_for_its_file():
    assert without_bare_debug(["-p", "--debug", "hi", "--", "--debug"]) == [
        "-p",
        "--debug=",
        "hi",
        "--",
        "--debug",
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"x-api-key: {KEY}", f"Authorization: Bearer {KEY}", "authorization: Basic dXNlcjpwYXNzd29yZA==", "Bearer abcdefgh12345678",
        "('x-api-key', 'q8w7e6r5t4')", "{'Authorization': 'token q8w7e6r5t4'}", "(b'api-key', b'q8w7e6r5t4')", "OPENAI_API_KEY=q8w7e6r5t4", '"api_key": "q8w7e6r5t4"',
        "password = q8w7e6r5t4", "https://user:q8w7e6r5t4@host/x", "ghp_0123456789abcdef0123", "AKIA0123456789ABCDEF", "set-cookie: q8w7e6r5t4", "the value is given-by-environment",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "GITHUB_TOKEN: q8w7e6r5t4",
    ],
)  # fmt: skip
def test_secrets_are_masked_by_form_by_name_and_by_value(text: str):
    masked = without_secrets(text, secret_values({"X_SECRET": "given-by-environment", "HOME": "/home"}))
    secrets = (KEY, "q8w7e6r5t4", "dXNlcjpw", "abcdefgh12345678", "0123456789", "given-by", "eyJhbG")
    assert not any(secret in masked for secret in secrets)
    assert "[masked]" in masked


@pytest.mark.parametrize(
    "text", ["POST https://api.example.com/v1/messages, 120 bytes", "max_tokens: 32000", "input_tokens=120, output_tokens=4", "GET /a/b-c_d"]
)  # fmt: skip
def test_ordinary_lines_stay_as_they_are(text: str):
    assert without_secrets(text) == text


@given(st.text(max_size=200), st.text("abcdefghijk-_0123456789", min_size=8, max_size=40))
def test_a_known_secret_is_nowhere_in_the_result(around: str, secret: str):
    if secret not in "[masked]":
        assert secret not in without_secrets(f"{around}{secret}{around}", (secret,))


@pytest.mark.parametrize("secret", ["a" * 5_000, "x-api-key " * 500, "token=" * 1_000, "://" * 2_000])
def test_no_text_takes_long(secret: str):
    assert isinstance(without_secrets(secret), str)


# ------------------------------------------------------------------------------------------------ the command


@pytest.mark.process
def test_a_log_file_holds_sizes_and_ids_and_no_secret_and_is_the_users_own(tmp_path: Path):
    desk, log = Desk(tmp_path, extra={"ANTHROPIC_API_KEY": KEY}), tmp_path / "log"
    with StrictServer(Reply(say("the answer"))) as server:
        desk.url = server.url
        ended = desk.run("-p", "the question", f"--debug={log}")
    assert (ended.code, ended.text, ended.err) == (0, "the answer\n", "")
    text = log.read_text()
    assert "POST" in text
    assert "200 from" in text
    assert not any(secret in text for secret in (KEY, "the question", "the answer"))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.process
def test_content_is_logged_when_asked_for_to_standard_error(tmp_path: Path):
    with StrictServer(Reply(say("the answer"))) as server:
        desk = Desk(tmp_path, server.url, extra={"ANTHROPIC_API_KEY": KEY})
        ended = desk.run("-p", "--debug", "--debug-content", f"the question {KEY}")
    assert (ended.code, ended.text) == (0, "the answer\n")
    assert "the question" in ended.err
    assert "message_stop" in ended.err
    assert KEY not in ended.err


@pytest.mark.process
@pytest.mark.parametrize("file", ["/dev/stdout", "/nowhere/log"])
def test_a_log_that_cannot_be_is_a_usage_error(file: str, tmp_path: Path):
    ended = Desk(tmp_path).run("-p", "hi", f"--debug={file}")
    assert (ended.code, ended.out) == (2, b"")


@pytest.mark.process
def test_an_error_leaves_its_trace_in_the_log_and_two_lines_for_people(tmp_path: Path):
    desk = Desk(tmp_path, extra={"OSTINATO_MODEL": "nonesuch"})
    ended = desk.run("-p", "hi", f"--debug={tmp_path / 'log'}")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert "Traceback" in (tmp_path / "log").read_text()


def test_each_value_of_custom_headers_and_each_password_in_an_address_is_known():
    environment = {
        "ANTHROPIC_CUSTOM_HEADERS": "X-Tok: tok-CUSTOM-HDR-99887766\nX-Other: other-99887766",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-a=otlp-99887766,x-b=otlp-11223344",
        "HTTPS_PROXY": "http://user:gwpassw0rd@proxy:1/",
    }
    for secret in (
        "tok-CUSTOM-HDR-99887766",
        "other-99887766",
        "otlp-99887766",
        "otlp-11223344",
        "gwpassw0rd",
    ):
        assert secret not in without_secrets(f"the child printed {secret} alone", secret_values(environment))


@pytest.mark.process
@pytest.mark.parametrize("level", ["user", "project"])
def test_what_the_settings_give_as_a_secret_is_masked_whether_it_counts_or_not(tmp_path: Path, level: str):
    desk = Desk(tmp_path)
    folder = (desk.work if level == "project" else desk.home) / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"env": {"MY_SERVICE_TOKEN": "plain words nobody knows"}}')
    with StrictServer(Reply(say("the answer"))) as server:
        desk.url = server.url
        ended = desk.run("-p", "--debug", "--debug-content", "say plain words nobody knows")
    assert ended.code == 0
    assert "message_stop" in ended.err
    assert "plain words" not in ended.err
