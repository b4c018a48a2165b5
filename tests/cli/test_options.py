"""Flags become options: rules are split where people separate them, and contradictions are named."""

import os
import threading
from pathlib import Path

import pytest

from ostinato.cli.command import FORMATS
from ostinato.cli.flags import Flags
from ostinato.cli.options import options_from, split_rules
from ostinato.cli.prompt_input import Patience, read_prompt
from ostinato.errors import UsageError


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        (("Read,Edit",), ("Read", "Edit")),
        (("Read Edit",), ("Read", "Edit")),
        (("Read", "Edit"), ("Read", "Edit")),
        (("Bash(git log:*), Edit(src/**)",), ("Bash(git log:*)", "Edit(src/**)")),
        (("Bash(echo a, b)",), ("Bash(echo a, b)",)),
        (("",), ()),
        ((), ()),
    ],
)
def test_rules_are_split_outside_of_parentheses(values: tuple[str, ...], rules: tuple[str, ...]):
    assert split_rules(values) == rules


def test_the_command_offers_the_three_formats():
    assert FORMATS == ("text", "json", "stream-json")


def test_every_flag_has_its_option():
    flags = Flags(
        model="m",
        max_turns=3,
        permission_mode="plan",
        allowed_tools=("Read",),
        disallowed_tools=("Bash",),
        add_dirs=(Path("/a"),),
        system_prompt="",
        append_system_prompt="more",
        resume="s",
        keep_session=False,
        cwd=Path("/w"),
    )
    options = options_from(flags)
    assert (options.model, options.max_turns, options.permission_mode) == ("m", 3, "plan")
    assert (options.allowed_tools, options.disallowed_tools, options.add_dirs) == (
        ("Read",),
        ("Bash",),
        (Path("/a"),),
    )
    assert (options.system_prompt, options.append_system_prompt) == ("", "more")
    assert (options.resume, options.keep_session, options.cwd) == ("s", False, Path("/w"))


# ------------------------------------------------------------------------------------------------ the prompt


class Pipe:
    """A pipe to read a prompt from."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()

    def holding(self, data: bytes) -> int:
        """Write, close the other side, and give the side to read from."""
        os.write(self.write_end, data)
        os.close(self.write_end)
        return self.read_end


def silent(_text: str) -> None:
    """Nobody listens."""


def test_argument_and_input_are_one_prompt():
    assert read_prompt("explain", silent, descriptor=Pipe().holding(b"code\n")) == "explain\n\ncode"


def test_input_alone_is_a_prompt():
    assert read_prompt(None, silent, descriptor=Pipe().holding("grüße\n".encode())) == "grüße"


def test_a_silent_pipe_is_left_alone_and_that_is_said():
    told: list[str] = []
    assert read_prompt("hi", told.append, descriptor=Pipe().read_end, patience=Patience(0.001)) == "hi"
    assert len(told) == 1


@pytest.mark.parametrize("is_watched", [False, True])
def test_a_pipe_that_spoke_and_stays_open_is_left_after_a_silence_and_what_came_counts(is_watched: bool):
    pipe, told = Pipe(), list[str]()
    os.write(pipe.write_end, b"half of it\n")
    impatient = Patience(first_byte_s=5, silence_s=0.002, told_s=0.001)
    prompt = read_prompt(
        "hi", told.append, descriptor=pipe.read_end, patience=impatient, is_watched=is_watched
    )
    assert prompt == "hi\n\nhalf of it"
    assert ["11 bytes" in one for one in told] == [False, True][1 - is_watched :]


class Late:
    """The other side of a pipe, which goes on only when a person heard that it is waited for."""

    def __init__(self, data: bytes) -> None:
        self.pipe = Pipe()
        self.told: list[str] = []
        self._data = data

    def talk(self, text: str) -> None:
        self.told.append(text)
        self.pipe.holding(self._data)


@pytest.mark.parametrize("argument", [None, "explain"])
def test_whoever_watches_is_told_once_that_the_end_is_awaited_and_all_of_it_comes(argument: str | None):
    late = Late(b" and the rest")
    os.write(late.pipe.write_end, b"the beginning")
    patient = Patience(first_byte_s=5, silence_s=30, told_s=0.001)
    prompt = read_prompt(
        argument, late.talk, descriptor=late.pipe.read_end, patience=patient, is_watched=True
    )
    assert prompt.endswith("the beginning and the rest")
    assert len(late.told) == 1


def test_without_an_argument_nothing_is_cut_and_nobody_is_told_where_nobody_watches():
    pipe = Pipe()
    writer = threading.Timer(0.02, lambda: pipe.holding(b"late"))
    writer.start()
    patience = Patience(first_byte_s=0.001, silence_s=0.001, told_s=0.001)
    assert read_prompt(None, pytest.fail, descriptor=pipe.read_end, patience=patience) == "late"
    writer.join()


@pytest.mark.parametrize("argument", [None, "", " \n"])
def test_nothing_anywhere_is_a_usage_error(argument: str | None):
    with pytest.raises(UsageError):
        read_prompt(argument, silent, descriptor=Pipe().holding(b"\n"))


@pytest.mark.parametrize("rule", ["bash", "Bsh", "touch", "Bsh(rm:*)", "read(.env)", "bash(touch x)"])
def test_a_deny_rule_on_the_command_line_that_can_match_nothing_is_a_wrong_call(rule: str):
    with pytest.raises(UsageError) as raised:
        split_rules((rule,), "deny")
    assert raised.value.hint
    assert "allow" not in str(raised.value)
