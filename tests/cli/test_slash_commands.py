"""Slash commands of the real command: answered without a key or a server, sent as their text, and never run untrusted."""

from pathlib import Path

import pytest
from tests.cli.command import Desk, prompts_of
from tests.cli.line_scene import ENTER, conversation
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.cli.slash_commands import known_commands
from ostinato.testing import Reply, StrictServer, say

COMMAND = "---\nallowed-tools: Bash(touch:*)\n---\nGo on, !`touch ran` and $1."


def write_command(folder: Path, name: str, text: str) -> None:
    path = folder / ".claude" / "commands" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.process
def test_a_built_in_command_answers_on_standard_output_and_nothing_is_sent(desk: Desk):
    with StrictServer() as server:
        desk.url = server.url
        for line in ("/cost", "/status", "/permissions explain 'git push'"):
            ended = desk.run("-p", line)
            assert (ended.code, ended.err) == (0, "")
            assert ended.text
        [result] = desk.run("-p", "/help", "--output-format", "json").messages
        assert (result["subtype"], result["num_turns"], result["total_cost_usd"]) == ("success", 0, 0)
        assert "/cost" in result["result"]
        first, *_ = desk.run("-p", "/cost", "--output-format", "stream-json").messages
        assert {"cost", "help"} <= set(first["slash_commands"])
        assert server.requests == []
        assert desk.sessions == []


@pytest.mark.process
def test_a_conversation_of_commands_alone_leaves_no_session_and_offers_none(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type("/status" + ENTER)
        terminal.sees("sandbox   none")
        terminal.type("/exit" + ENTER)
        assert terminal.ended() == 0
        assert "--resume" not in terminal.text
    assert desk.sessions == []


@pytest.mark.process
def test_an_unknown_command_fails_with_the_nearest_name_and_nothing_is_sent(desk: Desk):
    with StrictServer() as server:
        desk.url = server.url
        ended = desk.run("-p", "/cots")
        assert (ended.code, ended.out) == (1, b"")
        assert "`/cost`" in ended.err
        assert server.requests == []


@pytest.mark.process
def test_a_path_is_a_prompt_and_a_command_file_is_its_text(desk: Desk):
    write_command(desk.home, "fix", "Fix $ARGUMENTS.")
    with StrictServer(Reply(say("a")), Reply(say("b"))) as server:
        desk.url = server.url
        for line, sent in (
            ("/etc/hosts is wrong", "/etc/hosts is wrong"),
            ("/fix the parser", "Fix the parser."),
        ):
            assert desk.run("-p", line).code == 0
            assert prompts_of(server.requests[-1].body)[-1] == sent
        server.assert_clean()


@pytest.mark.process
def test_a_projects_shell_line_runs_with_trust_and_not_without(desk: Desk):
    write_command(desk.work, "go", COMMAND)
    with StrictServer(Reply(say("a"))) as server:
        desk.url = server.url
        refused = desk.run("-p", "/go fast")
        assert (refused.code, refused.out, server.requests) == (1, b"", [])
        assert "ostinato trust" in refused.err
        assert not (desk.work / "ran").exists()
        assert desk.run("-p", "/go fast", "--trust").code == 0
        assert (desk.work / "ran").exists()
        assert prompts_of(server.requests[-1].body)[-1] == "Go on, [no output] and fast."


def test_the_commands_that_a_person_may_complete_are_those_that_would_answer(desk: Desk):
    write_command(desk.work, "team/go", "---\ndescription: Go\nargument-hint: <where>\n---\ntext")
    write_command(desk.home, "cost", "text")
    entries = known_commands(desk.work, {"HOME": str(desk.home)})
    by_name = {entry.name: entry for entry in entries}
    assert {"help", "exit", "team:go", "user:cost"} <= set(by_name)
    assert (by_name["team:go"].description, by_name["team:go"].argument_hint) == ("Go", "<where>")


@pytest.mark.process
def test_on_a_terminal_clear_begins_anew_and_resume_goes_back(desk: Desk):
    with conversation(
        desk, Reply(say("answer one")), Reply(say("answer two")), Reply(say("answer three"))
    ) as (terminal, server):
        for line, shown in [
            ("/help", "Alt-Enter"),
            ("remember 42", "answer one"),
            ("/clear", "can be resumed"),
            ("something else", "answer two"),
            ("/resume", "remember 42"),
            ("/resume 1", "going on with session"),
            ("what was it?", "answer three"),
        ]:
            terminal.type(line + ENTER)
            terminal.sees(shown, 2 if line == "/resume" else 1)
            terminal.until(lambda: terminal.is_idle)
        terminal.type("/exit" + ENTER)
        assert terminal.ended() == 0
    prompts = [prompts_of(request.body) for request in server.requests]
    assert [prompt[-1] for prompt in prompts] == ["remember 42", "something else", "what was it?"]
    assert ["remember 42" in prompt for prompt in prompts] == [True, False, True]
    server.assert_clean()


@pytest.mark.process
def test_on_a_terminal_a_person_is_asked_about_a_shell_line_that_no_rule_allows(desk: Desk):
    write_command(desk.home, "go", "Go on, !`touch ran`.")
    with conversation(desk, Reply(say("the answer"))) as (terminal, server):
        terminal.type("/go" + ENTER)
        terminal.sees("allow?")
        terminal.type("n" + ENTER)
        terminal.sees("did not run")
        terminal.until(lambda: terminal.is_idle)
        assert server.requests == []
        terminal.type("/go" + ENTER)
        terminal.sees("allow?", 2)
        terminal.type("y" + ENTER)
        terminal.sees("the answer")
    assert (desk.work / "ran").exists()
    assert prompts_of(server.requests[0].body)[-1] == "Go on, [no output]."
