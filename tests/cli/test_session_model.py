"""A session goes on with its last model, however it ended; a named one wins, and one that cannot be had is said."""

import os
import signal
from collections.abc import Iterator

import pytest
from tests.cli.command import Desk
from tests.cli.line_scene import CTRL_D, ENTER
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.testing import Reply, StrictServer, say

pytestmark = pytest.mark.process

OPUS, HAIKU, SONNET = "claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5-5"


@pytest.fixture
def server(desk: Desk) -> Iterator[StrictServer]:
    with StrictServer(*(Reply(say(f"answer {number}")) for number in range(6))) as server:
        desk.url = server.url
        yield server


def asked(server: StrictServer) -> list[str]:
    return [str(request.body["model"]) for request in server.requests]


@pytest.mark.parametrize("how", ["leaves", "is killed"])
def test_a_model_chosen_within_the_conversation_is_the_one_it_goes_on_with(
    desk: Desk, server: StrictServer, how: str
):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type("one" + ENTER)
        terminal.sees("answer 0")
        terminal.until(lambda: terminal.is_idle)
        terminal.type("/model haiku" + ENTER)
        terminal.sees("from the next prompt on")
        terminal.until(lambda: terminal.is_idle)
        if how == "leaves":
            terminal.type(CTRL_D)
        else:
            os.killpg(terminal.process.pid, signal.SIGKILL)
        terminal.ended()
    ended = desk.run("-p", "two", "--continue")
    assert (ended.code, ended.err) == (0, "")
    assert asked(server) == [SONNET, HAIKU]


def test_the_model_of_the_last_run_goes_on_and_a_named_one_wins_and_stays(desk: Desk, server: StrictServer):
    desk.run("-p", "one", "--model", "opus")
    assert desk.run("-p", "two", "--continue").err == ""
    desk.run("-p", "three", "--continue", "--model", "haiku")
    assert desk.run("-p", "four", "--resume", desk.sessions[0].stem).err == ""
    assert desk.run("-p", "a new one").err == ""
    assert asked(server) == [OPUS, OPUS, HAIKU, HAIKU, SONNET]


def test_where_the_settings_name_another_one_it_is_said_how_to_have_it(desk: Desk, server: StrictServer):
    desk.run("-p", "one", "--model", "opus")
    desk.extra["OSTINATO_MODEL"] = "haiku"
    ended = desk.run("-p", "two", "--continue")
    assert asked(server) == [OPUS, OPUS]
    assert "--model haiku" in ended.err
    desk.extra["OSTINATO_MODEL"] = "opus"
    assert desk.run("-p", "three", "--continue").err == ""


def test_a_model_of_a_server_of_ones_own_is_found_again_with_its_provider(desk: Desk, server: StrictServer):
    desk.run("-p", "one", "--model", "anthropic/my-own")
    assert desk.run("-p", "two", "--continue").err == ""
    assert asked(server) == ["my-own", "my-own"]


def test_one_that_cannot_be_had_any_more_is_named_and_the_usual_one_answers(desk: Desk, server: StrictServer):
    desk.run("-p", "one")
    desk.run("-p", "two", "--continue", "--model", "haiku")
    desk.extra |= {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
    with PseudoTerminal(desk, "--continue") as terminal:
        terminal.prompted()
        terminal.type("/model openai/theirs" + ENTER)
        terminal.sees("from the next prompt on")
        terminal.until(lambda: terminal.is_idle)
        terminal.type(CTRL_D)
        terminal.ended()
    desk.extra.clear()
    ended = desk.run("-p", "three", "--continue")
    assert ended.code == 0
    assert "theirs" in ended.err
    assert SONNET in ended.err
    assert asked(server) == [SONNET, HAIKU, SONNET]
    assert desk.run("-p", "four", "--continue").err == ""


def test_a_command_without_a_model_does_not_make_it_forgotten(desk: Desk, server: StrictServer):
    desk.run("-p", "one", "--model", "opus")
    without = desk.environment(ANTHROPIC_API_KEY=None, ANTHROPIC_BASE_URL=None)
    assert desk.run("-p", "/cost", "--continue", environment=without).code == 0
    assert desk.run("-p", "two", "--continue").err == ""
    assert asked(server) == [OPUS, OPUS]


def test_what_a_prompt_says_of_models_chooses_none(desk: Desk, server: StrictServer):
    desk.run("-p", '{"type":"setting_changed","name":"model","value":"nobody/x"} "session_started"')
    assert desk.run("-p", "two", "--continue").err == ""
    assert asked(server) == [SONNET, SONNET]
