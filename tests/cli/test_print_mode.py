"""`ostinato -p` as a real process: data on standard output, talk on standard error, an exit code one can trust."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.cli.command import Desk, prompts_of

from ostinato.testing import HttpError, Reply, StrictServer, call, say

pytestmark = pytest.mark.process

TOOL_CALL = call("Bash", "t1", command="echo hi")
WRITE = call("Write", "w1", file_path="new.txt", content="x")


@pytest.fixture
def hello(tmp_path: Path) -> Iterator[Desk]:
    """A desk whose server says hello once."""
    with StrictServer(Reply(say("hello"))) as server:
        yield Desk(tmp_path, server.url)
        server.assert_clean()


def test_the_answer_is_all_there_is_on_standard_output(hello: Desk):
    ended = hello.run("-p", "hi")
    assert (ended.code, ended.text, ended.err) == (0, "hello\n", "")


def test_without_a_terminal_the_flag_is_not_needed(hello: Desk):
    assert hello.run("hi").text == "hello\n"


def test_tools_run_and_only_the_last_text_is_the_answer(desk: Desk):
    with StrictServer(Reply(say("I look."), TOOL_CALL), Reply(say("It says hi."))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi")
    assert (ended.code, ended.text, ended.err) == (0, "It says hi.\n", "")


def test_verbose_names_each_tool_on_standard_error(desk: Desk):
    with StrictServer(Reply(TOOL_CALL), Reply(say("done"))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--verbose")
    assert ended.text == "done\n"
    assert ended.err.splitlines() == ["→ Bash(echo hi)", "← Bash(echo hi): done"]


def test_flags_reach_the_request_in_both_spellings(desk: Desk):
    flags = ("--system-prompt=You are X.", "--append-system-prompt", "And Y.", "--model=claude-sonnet-5-5")
    with StrictServer(Reply(say("a")), Reply(say("b"))) as server:
        desk.url = server.url
        assert desk.run("-p", "hi", *flags, "--disallowedTools=Bash,Write").code == 0
        assert desk.run("-p", "hi", *flags, "--disallowed-tools", "Bash Write").code == 0
        bodies = [request.body for request in server.requests]
    for body in bodies:
        assert [part["text"] for part in body["system"]] == ["You are X.", "And Y."]
        assert body["model"] == "claude-sonnet-5-5"
        assert {tool["name"] for tool in body["tools"]} == {
            "Edit",
            "Glob",
            "Grep",
            "MultiEdit",
            "NotebookEdit",
            "Read",
            "TodoWrite",
            "WebFetch",
        }


def test_a_prompt_that_begins_with_a_dash_goes_after_two(hello: Desk):
    assert hello.run("-p", "--", "- a list").code == 0


# ------------------------------------------------------------------------------------------------ JSON


def test_json_is_one_result_object(hello: Desk):
    ended = hello.run("-p", "hi", "--output-format", "json")
    (result,) = ended.messages
    assert (ended.code, ended.err) == (0, "")
    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "success", False)
    assert (result["result"], result["num_turns"], result["terminal_reason"]) == ("hello", 1, "completed")
    assert result["usage"]["input_tokens"] == 100
    assert result["total_cost_usd"] > 0


def test_stream_json_begins_with_init_and_ends_with_the_result(desk: Desk):
    with StrictServer(Reply(say("I look."), TOOL_CALL), Reply(say("It says hi."))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--output-format=stream-json", "--verbose")
    kinds = [message["type"] for message in ended.messages]
    assert (ended.code, ended.err) == (0, "")
    assert kinds == ["system", "assistant", "assistant", "user", "assistant", "result"]
    assert ended.messages[0]["subtype"] == "init"
    assert len({message["session_id"] for message in ended.messages}) == 1
    assert len({message["uuid"] for message in ended.messages}) == len(kinds)


def test_init_says_where_the_key_is_from(desk: Desk):
    settings = desk.home / ".ostinato/settings.json"
    with StrictServer(script=lambda _body, _number: Reply(say("hello"))) as server:
        desk.url = server.url

        def source(**changes: str | None) -> str:
            ended = desk.run(
                "-p", "hi", "--output-format", "stream-json", environment=desk.environment(**changes)
            )
            return ended.messages[0]["apiKeySource"]

        assert source() == "ANTHROPIC_API_KEY"
        assert source(ANTHROPIC_API_KEY=None, ANTHROPIC_AUTH_TOKEN="x") == "none"
        settings.write_text('{"apiKeyHelper": "echo key"}')
        assert source(ANTHROPIC_API_KEY=None) == "apiKeyHelper"
        assert source() == "ANTHROPIC_API_KEY"


def test_partial_messages_are_raw_events(hello: Desk):
    ended = hello.run("-p", "hi", "--output-format", "stream-json", "--include-partial-messages")
    events = [message["event"]["type"] for message in ended.messages if message["type"] == "stream_event"]
    assert events[:2] == ["message_start", "content_block_start"]
    assert events[-3:] == ["content_block_stop", "message_delta", "message_stop"]


# ------------------------------------------------------------------------------------------------ ends that are not done


def test_the_turn_limit_is_an_exit_code_and_a_result(desk: Desk):
    with StrictServer(Reply(TOOL_CALL), Reply(TOOL_CALL)) as server:
        desk.url = server.url
        in_text = desk.run("-p", "hi", "--max-turns", "1")
        in_json = desk.run("-p", "hi", "--max-turns=1", "--output-format", "json")
    assert in_text.code == in_json.code == 1
    assert in_text.err.startswith("error: ")
    assert "hint: " in in_text.err
    assert in_json.messages[0]["subtype"] == "error_max_turns"


def test_a_denied_call_is_listed_and_ends_with_1(desk: Desk):
    with StrictServer(Reply(WRITE), Reply(say("I could not."))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--output-format", "json")
    (result,) = ended.messages
    assert ended.code == 1
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Write"]
    assert not (desk.work / "new.txt").exists()
    assert "Write(new.txt)" in ended.err


def test_a_call_that_cannot_succeed_is_an_error_that_the_model_reads_and_no_denial(desk: Desk):
    (desk.work / "new.txt").write_text("the user's own")
    search = call("WebSearch", "s1", query="pens")
    with StrictServer(Reply(search, WRITE), Reply(say("I know it without."))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--output-format", "json")
        results = server.requests[1].body["messages"][-1]["content"]
    (result,) = ended.messages
    assert (ended.code, result["permission_denials"]) == (0, [])
    assert [one["is_error"] for one in results] == [True, True]
    assert "OSTINATO_WEB_SEARCH_URL" in str(results[0])
    assert "Read it first" in str(results[1])
    assert (desk.work / "new.txt").read_text() == "the user's own"


def test_a_mention_that_may_not_be_read_is_told(desk: Desk):
    (desk.root / "secret.txt").write_text("sesame")
    with StrictServer(Reply(say("ok"))) as server:
        desk.url = server.url
        ended = desk.run("-p", f"read @{desk.root / 'secret.txt'}")
    assert (ended.code, ended.text) == (0, "ok\n")
    assert ended.err.count("secret.txt") == 1
    assert "sesame" not in str(server.requests[0].body)


def test_an_allowed_tool_is_not_asked_for(desk: Desk):
    with StrictServer(Reply(WRITE), Reply(say("done"))) as server:
        desk.url = server.url
        assert desk.run("-p", "hi", "--allowedTools", "Write").code == 0
    assert (desk.work / "new.txt").read_text() == "x"


def test_an_unknown_tool_is_news_for_the_model_and_no_failure(desk: Desk):
    with StrictServer(Reply(call("Nonsense", "n1")), Reply(say("never mind"))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi")
        server.assert_clean()
    assert (ended.code, ended.text, ended.err) == (0, "never mind\n", "")


# ------------------------------------------------------------------------------------------------ bad input


def assert_explained(code: int, err: str, expected_code: int) -> None:
    assert code == expected_code
    assert err.startswith("error: ")
    assert "\n\nhint: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", ""),
        ("-p", "  \n "),
        ("-p",),
        ("-p", "hi", "--modle", "x"),
        ("-p", "hi", "--max-turns", "0"),
        ("-p", "hi", "--max-turns", "many"),
        ("-p", "hi", "--output-format", "xml"),
        ("-p", "hi", "--permission-mode", "yolo"),
        ("-p", "hi", "--include-partial-messages"),
        ("-p", "hi", "--continue", "--resume", "x"),
        ("-p", "hi", "--session-id", "not-a-uuid"),
        ("-p", "hi", "--allowed-tools", "Bash("),
        ("-p", "hi", "--cwd", "/no/such/folder"),
        ("-p", "hi", "--add-dir", "/no/such/folder"),
        ("-p", "hi", "--cwd", "/etc/passwd"),
        ("-p", "one", "two"),
        ("local",),
        ("local", "nonsense"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_explained_and_ends_with_2(desk: Desk, arguments: tuple[str, ...]):
    ended = desk.run(*arguments)
    assert_explained(ended.code, ended.err, 2)
    assert ended.out == b""
    assert desk.sessions == []


def test_an_unreadable_folder_is_named(desk: Desk):
    locked = desk.root / "locked"
    locked.mkdir(mode=0)
    ended = desk.run("-p", "hi", "--cwd", str(locked))
    if ended.code == 1:  # the superuser reads everything and fails only at the server
        pytest.skip("this user can read every folder")
    assert_explained(ended.code, ended.err, 2)


def test_no_key_says_which_to_set(desk: Desk):
    ended = desk.run(
        "-p", "hi", environment=desk.environment(ANTHROPIC_API_KEY=None, ANTHROPIC_BASE_URL=None)
    )
    assert_explained(ended.code, ended.err, 1)
    assert "ANTHROPIC_API_KEY" in ended.err


def test_a_wrong_key_is_the_providers_word(desk: Desk):
    with StrictServer(accepts_keys={"right"}) as server:
        desk.url = server.url
        in_text = desk.run("-p", "hi")
        in_json = desk.run("-p", "hi", "--output-format", "stream-json")
    assert_explained(in_text.code, in_text.err, 1)
    assert in_text.out == b""
    result = in_json.messages[-1]
    assert (in_json.code, in_json.err) == (1, "")
    assert (result["subtype"], result["is_error"]) == ("success", True)
    assert (result["terminal_reason"], result["api_error_status"]) == ("api_error", 401)
    assert in_json.messages[-2]["error"] == "authentication_failed"


def test_an_unknown_model_is_named(desk: Desk):
    with StrictServer(models={"other"}) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--model", "claude-nonsense-9")
    assert_explained(ended.code, ended.err, 1)
    assert "claude-nonsense-9" in ended.err


def test_an_unreachable_server_is_named(desk: Desk):
    ended = desk.run("-p", "hi")
    assert_explained(ended.code, ended.err, 1)
    assert "http://127.0.0.1:1" in ended.err


def test_an_unknown_session_is_explained(desk: Desk):
    for flags in (["--continue"], ["--resume", "8f0e1b9e-0000-4000-8000-000000000000"]):
        ended = desk.run("-p", "hi", *flags)
        assert ended.code in {1, 2}
        assert_explained(ended.code, ended.err, ended.code)


def test_a_server_that_answers_nonsense_is_no_crash(desk: Desk):
    with StrictServer(HttpError(200, "<html>hello</html>", content_type="text/html")) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi")
    assert ended.code == 1
    assert ended.err.startswith("error: ")
    assert "Traceback" not in ended.err


# ------------------------------------------------------------------------------------------------ homes and locales


@pytest.mark.parametrize("home", ["/proc/nobody", "", None], ids=["impossible", "empty", "unset"])
def test_without_a_home_the_work_is_done_and_the_loss_is_told(hello: Desk, home: str | None):
    ended = hello.run("-p", "hi", environment=hello.environment(HOME=home))
    assert (ended.code, ended.text) == (0, "hello\n")
    assert ended.err.startswith("note: ")
    assert len(ended.err.splitlines()) == 1


def test_a_session_that_need_not_be_kept_is_no_news(hello: Desk):
    ended = hello.run(
        "-p", "hi", "--no-session-persistence", environment=hello.environment(HOME="/proc/nobody")
    )
    assert (ended.code, ended.text, ended.err) == (0, "hello\n", "")


@pytest.mark.parametrize("encoding", ["ascii", "gbk"])
def test_any_locale_gets_utf8(desk: Desk, encoding: str):
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    with StrictServer(Reply(say("✓ naïve")), Reply(say("✓ naïve"))) as server:
        desk.url = server.url
        desk.extra = environment
        in_text = desk.run("-p", "käse ✓")
        in_json = desk.run("-p", "käse ✓", "--output-format", "json")
        prompt = prompts_of(server.requests[0].body)[-1]
    assert (in_text.code, in_text.out, in_text.err) == (0, "✓ naïve\n".encode(), "")
    assert msgspec.json.decode(in_json.out)["result"] == "✓ naïve"
    assert prompt == "käse ✓"


# ------------------------------------------------------------------------------------------------ sessions


def test_continue_and_resume_go_on_where_the_last_run_ended(desk: Desk):
    with StrictServer(Reply(say("one")), Reply(say("two")), Reply(say("three"))) as server:
        desk.url = server.url
        first = desk.run("-p", "first", "--output-format", "json").messages[0]
        assert desk.run("-p", "second", "--continue").text == "two\n"
        assert desk.run("-p", "third", "--resume", first["session_id"]).text == "three\n"
        server.assert_clean()
        prompts = [
            text for text in prompts_of(server.requests[-1].body) if text in {"first", "second", "third"}
        ]
    assert prompts == ["first", "second", "third"]
    assert len(desk.sessions) == 1


def test_a_session_id_can_be_chosen(hello: Desk):
    chosen = "8f0e1b9e-1111-4222-8333-444444444444"
    ended = hello.run("-p", "hi", "--session-id", chosen, "--output-format", "json")
    assert ended.messages[0]["session_id"] == chosen
    assert [path.stem for path in hello.sessions] == [chosen]


# ------------------------------------------------------------------------------------------------ version and help


def test_version_and_help_are_data(desk: Desk):
    version, help_text = desk.run("--version"), desk.run("--help")
    assert (version.code, version.err) == (0, "")
    assert version.text.split()[0].count(".") >= 2
    assert version.text.rstrip().endswith(")")
    assert (help_text.code, help_text.err) == (0, "")
    assert "--output-format" in help_text.text


def test_debug_shows_the_trace_of_an_error(desk: Desk):
    assert "Traceback" in desk.run("-p", "hi", "--cwd", "/no/such/folder", "--debug").err


def test_effort_and_thinking_reach_the_request(desk: Desk):
    with StrictServer(Reply(say("a")), Reply(say("b"))) as server:
        desk.url = server.url
        flags = ("--model", "claude-sonnet-5-5", "--effort", "low", "--thinking", "on")
        assert desk.run("-p", "hi", *flags).err == ""
        assert desk.run("-p", "hi", "--model", "claude-haiku-4-5", "--thinking", "2048").err == ""
        first, second = (request.body for request in server.requests)
    assert (first["output_config"], first["thinking"]["type"]) == ({"effort": "low"}, "adaptive")
    assert second["thinking"] == {"type": "enabled", "budget_tokens": 2048}


def test_a_wish_that_the_model_cannot_be_told_is_said(desk: Desk):
    with StrictServer(Reply(say("a"))) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--model", "claude-sonnet-5-5", "--thinking", "5000")
    assert ended.text == "a\n"
    assert ended.err.startswith("note: `anthropic/claude-sonnet-5-5` decides")


@pytest.mark.parametrize("flags", [("--thinking", "5"), ("--thinking", "maybe"), ("--effort", "huge")])
def test_a_wish_about_thinking_that_is_none_is_a_usage_error(desk: Desk, flags: tuple[str, str]):
    assert desk.run("-p", "hi", *flags).code == 2


def test_fallback_models_are_accepted(hello: Desk):
    assert hello.run("-p", "hi", "--fallback-model", "haiku,opus").text == "hello\n"
