"""Typing in line mode: several lines, pastes, history, and what is typed while a query runs. Nothing typed is lost."""

import stat

import pytest
from tests.cli.command import Desk, prompts_of
from tests.cli.line_scene import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    CTRL_R,
    ENTER,
    ESCAPE,
    UNTIL_GO,
    UP,
    conversation,
    last_prompt,
    pasted,
    sent,
    stuck,
)
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.testing import Gate, OnWire, Reply, StrictServer, call, say

pytestmark = pytest.mark.process


@pytest.mark.parametrize("between", [ALT_ENTER, "\\" + ENTER], ids=["alt-enter", "backslash"])
def test_a_prompt_may_have_several_lines(desk: Desk, between: str):
    with conversation(desk, Reply(say("answer"))) as (terminal, server):
        terminal.type(f"one{between}two{ENTER}")
        terminal.sees("answer")
    assert last_prompt(server) == "one\ntwo"


def test_what_is_pasted_stays_one_prompt(desk: Desk):
    with conversation(desk, Reply(say("answer"))) as (terminal, server):
        terminal.type(pasted("one\r/exit\rtwo") + ENTER)
        terminal.sees("answer")
    assert last_prompt(server) == "one\n/exit\ntwo"


def busy(desk: Desk, terminal: PseudoTerminal) -> None:
    """Until a tool runs."""
    terminal.prompted()
    terminal.type("one" + ENTER)
    terminal.until((desk.work / "started").exists)


def test_what_is_typed_while_a_query_runs_waits_and_joins_it(desk: Desk):
    slow = Reply(call("Bash", "t1", command=UNTIL_GO))
    with conversation(
        desk,
        slow,
        Reply(say("the end")),
        flags=("--allowed-tools", "Bash"),
    ) as (terminal, server):
        busy(desk, terminal)
        terminal.type("typed early" + ENTER)
        terminal.sees("queued: typed early")
        (desk.work / "go").touch()
        terminal.prompted(1)
        assert "queued" not in terminal.text
        assert "> typed early\n" in terminal.text
    assert sent(server, 1).count("typed early") == 1


def test_what_waits_when_the_query_is_over_is_sent_next(desk: Desk):
    gate = Gate()
    with conversation(
        desk, OnWire(Reply(say("first answer")), before_head=gate), Reply(say("second answer"))
    ) as (terminal, server):
        terminal.type("one" + ENTER)
        terminal.sees("working, ")
        terminal.type("two" + ENTER + "/status" + ENTER + "a draft")
        terminal.sees("queued: /status")
        gate.open()
        terminal.sees(str(desk.work))
        terminal.prompted(2)
        assert terminal.text.index("second answer") < terminal.text.index(str(desk.work))
        assert terminal.screen.cursor_line == "> a draft"
    assert last_prompt(server) == "two"


@pytest.mark.parametrize("command", ["/status", "/cost", "/clear", "!true"])
def test_ctrl_d_typed_behind_a_line_leaves_when_that_is_done(desk: Desk, command: str):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type(command + ENTER + CTRL_D)
        assert terminal.ended() == 0
        assert terminal.left_nothing()


def test_ctrl_d_while_it_works_leaves_when_everything_that_waits_is_done(desk: Desk):
    gate = Gate()
    with conversation(desk, OnWire(Reply(say("first answer")), before_head=gate), Reply(say("second"))) as (
        terminal,
        server,
    ):
        terminal.type("one" + ENTER)
        terminal.sees("working, ")
        terminal.type("two" + ENTER + CTRL_D)
        terminal.sees("then it leaves")
        gate.open()
        assert terminal.ended() == 0
        assert "second" in terminal.text
    assert last_prompt(server) == "two"


@pytest.mark.parametrize("typed", ["two" + ENTER, "a draft", CTRL_C])
def test_leaving_afterwards_is_taken_back_by_whatever_is_typed_then(desk: Desk, typed: str):
    gate = Gate()
    with conversation(desk, OnWire(Reply(say("first answer")), before_head=gate), Reply(say("second"))) as (
        terminal,
        _,
    ):
        terminal.type("one" + ENTER)
        terminal.sees("working, ")
        terminal.type(CTRL_D)
        terminal.sees("then it leaves")
        terminal.type(typed)
        terminal.until(lambda: "then it leaves" not in terminal.screen.bottom or "a draft" in terminal.text)
        gate.open()
        terminal.prompted(2 if typed.startswith("two") else 1)
        if typed != "a draft":
            terminal.type("draft")
        terminal.until(lambda: terminal.screen.cursor_line.endswith("draft"))


def test_what_stands_behind_the_line_that_leaves_is_not_lost(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type("/exit" + ENTER + "a thought" + ENTER)
        assert terminal.ended() == 0
        kept = "".join(path.read_text() for path in desk.sessions)
        assert "a thought" in terminal.text.rpartition("/exit")[2] + kept


def test_up_takes_the_last_one_back_to_be_changed(desk: Desk):
    with conversation(
        desk,
        Reply(call("Bash", "t1", command=UNTIL_GO)),
        Reply(say("the end")),
        flags=("--allowed-tools", "Bash"),
    ) as (terminal, server):
        busy(desk, terminal)
        terminal.type("quince" + ENTER + "medlar" + ENTER)
        terminal.sees("queued: medlar")
        terminal.type(UP + "!" + ENTER)
        terminal.sees("queued: medlar!")
        (desk.work / "go").touch()
        terminal.prompted(1)
    assert sent(server, 1).index("quince") < sent(server, 1).index("medlar!")
    assert sent(server, 1).count("medlar") == 1


def test_escape_ends_the_query_and_sends_at_once(desk: Desk):
    with conversation(desk, stuck(), Reply(say("second answer"))) as (terminal, server):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        terminal.type("rather this")
        terminal.sees("> rather this")
        terminal.type(ESCAPE)
        terminal.sees("second answer")
    assert last_prompt(server) == "rather this"


def test_an_interrupt_gives_back_everything_that_was_typed(desk: Desk):
    with conversation(desk, stuck(), Reply(say("second answer"))) as (terminal, server):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        terminal.type("queued" + ENTER + "typed early")
        terminal.sees("queued: queued")
        terminal.type(CTRL_C)
        terminal.prompted(1)
        terminal.type(", sent late" + ENTER)
        terminal.sees("second answer")
    assert last_prompt(server) == "queued\ntyped early, sent late"


def test_a_long_paste_is_a_marker_and_is_sent_whole(desk: Desk):
    """Wide characters around it: a marker is no place in the text."""
    long = "\n".join(f"line {number} 中文" for number in range(40))
    with conversation(desk, Reply(say("answer"))) as (terminal, server):
        terminal.type(
            "中文 "
            + pasted(long)
            + " 结束 👨\u200d👩\u200d👧 "
            + pasted(long)
            + "x\x7f\x7f"
            + pasted("short")
        )
        terminal.sees("[pasted #1: 40 lines] 结束")
        terminal.until(lambda: "#2" not in terminal.screen.bottom and "short" in terminal.screen.bottom)
        terminal.type(ENTER)
        terminal.sees("answer")
    assert last_prompt(server) == f"中文 {long} 结束 👨\u200d👩\u200d👧 short"


def test_ctrl_r_finds_what_was_typed_in_an_earlier_conversation(desk: Desk):
    with StrictServer(Reply(say("answer")), Reply(say("other")), Reply(say("again"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            for number, typed in enumerate(["find me", "something else"], 1):
                terminal.type(typed + ENTER)
                terminal.prompted(number)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type(CTRL_R + "nd m")
            terminal.sees("> find me")
            terminal.type(ENTER + ENTER)
            terminal.sees("again")
        assert last_prompt(server) == "find me"


def test_history_is_kept_for_its_owner_only_and_recalled(desk: Desk):
    with StrictServer(Reply(say("answer")), Reply(say("again"))) as server:
        desk.url = server.url
        for typed, answer in (("remember me" + ENTER, "answer"), ("\x1b[A" + ENTER, "again")):
            with PseudoTerminal(desk) as terminal:
                terminal.prompted()
                terminal.type(typed)
                terminal.sees(answer)
                terminal.prompted(1)
                terminal.type(CTRL_D)
                assert terminal.ended() == 0
        assert last_prompt(server) == "remember me"
    assert stat.S_IMODE((desk.home / ".ostinato" / "history").stat().st_mode) == 0o600


def test_a_session_that_is_not_kept_leaves_no_history(desk: Desk):
    with conversation(desk, Reply(say("answer")), flags=("--no-session-persistence",)) as (terminal, _):
        terminal.type("a secret" + ENTER)
        terminal.sees("answer")
        terminal.prompted(1)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        assert "--resume" not in terminal.text
    assert [path for path in desk.home.rglob("*") if path.is_file()] == []


def test_an_at_sign_offers_paths_that_are_not_ignored(desk: Desk):
    (desk.work / "src").mkdir()
    for name in ("src/some_engine.py", "ignored_engine.py", "other.py"):
        (desk.work / name).write_text("x")
    (desk.work / ".gitignore").write_text("ignored*")
    with conversation(desk, Reply(say("answer"))) as (terminal, server):
        terminal.type("read @engine")
        terminal.sees("src/some_engine.py")
        assert "ignored_engine" not in terminal.text
        terminal.type("\t" + ENTER)
        terminal.sees("> read @src/some_engine.py")
        terminal.type(ENTER)
        terminal.prompted(1)
    assert "read @src/some_engine.py" in prompts_of(server.requests[0].body)


def test_a_slash_offers_commands_the_projects_own_too(desk: Desk):
    (desk.home / ".ostinato" / "commands").mkdir(parents=True)
    (desk.home / ".ostinato" / "commands" / "review.md").write_text("Review $ARGUMENTS")
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type("/re")
        terminal.sees("/resume")
        terminal.sees("/review")
        terminal.type("\t\t")
        terminal.sees("> /review")
        terminal.type(ESCAPE)
        terminal.sees("> /re")


def test_a_shell_line_is_seen_while_it_runs_and_stands_there_whole_and_once_after(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type(f"!echo on''e; echo tw''o; {UNTIL_GO}" + ENTER)
        terminal.sees("  │ one\n  │ two\n")
        assert "● !echo on''e" in terminal.screen.bottom
        (desk.work / "go").touch()
        terminal.until(lambda: terminal.is_idle)
        assert terminal.text.count("\none\ntwo\n") == 1
        assert "│ one" not in terminal.text


def test_ctrl_c_ends_a_shell_line_and_what_it_printed_stays_and_is_told(desk: Desk):
    with conversation(desk, Reply(say("I see"))) as (terminal, server):
        terminal.type("!echo ha''lf; exec sleep 600" + ENTER)
        terminal.sees("  │ half")
        terminal.type(CTRL_C)
        terminal.sees("(interrupted)")
        terminal.until(lambda: terminal.is_idle)
        assert "● !echo ha''lf; exec sleep 600: stopped\n  │ half\n" in terminal.text
        terminal.type("and now?" + ENTER)
        terminal.prompted(1)
    assert "half" in sent(server, 0).partition("it had printed")[2]
    server.assert_clean()


def test_a_shell_line_is_run_shown_and_told_with_the_next_prompt(desk: Desk):
    with conversation(desk, Reply(say("I see"))) as (terminal, server):
        terminal.type("!echo m''ade; touch made.txt" + ENTER)
        terminal.sees("\nmade\n")
        terminal.until(lambda: terminal.is_idle)
        terminal.type("and now?" + ENTER)
        terminal.prompted(1)
    assert (desk.work / "made.txt").exists()
    assert "made" in sent(server, 0)
    assert last_prompt(server) == "and now?"
    server.assert_clean()
