"""What the built-in commands say and do, over sessions that were resumed and files that others wrote."""

import os
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace
from tests.engine.slash.scene import Stage, write

from ostinato.attachments.instruction_files import InstructionFile, InstructionProblem, LoadedInstructions
from ostinato.config.load import effective, load_settings
from ostinato.config.places import Places
from ostinato.config.waiting import waiting
from ostinato.engine.gate import ANSWERED
from ostinato.engine.slash.conversation_text import CUT_OFF
from ostinato.engine.slash.reply import Leave, OpenSession, StartAnew
from ostinato.engine.slash.scene import SettingsInForce
from ostinato.events import ModelCost
from ostinato.history import History
from ostinato.journal.sessions import start_session
from ostinato.journal.write import SessionWriter
from ostinato.messages import (
    QueuedCommand,
    Reminder,
    SystemMessage,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    assistant_fragment,
    attachment_message,
    closing_fragment,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.permissions.rules import parse_rule
from ostinato.permissions.verdict import Policy
from ostinato.records import PermissionDecided, Record, Retract, Undo
from ostinato.testing import FakeClock

# ------------------------------------------------------------------------------------------------ cost


async def test_cost_is_told_by_model_with_cache_reads_and_writes(stage: Stage):
    stage.costs = {"a": ModelCost(Usage(1_000, 20, 300, 40), 0.5), "b": ModelCost(Usage(7, 0), 0.25)}
    text = (await stage.reply("/cost")).text
    assert all(
        number in text for number in ("1,000 in", "20 out", "300 read", "40 written", "$0.5000", "$0.7500")
    )
    assert len(text.splitlines()) == 3


async def test_an_unknown_price_is_said_and_never_added_as_nothing(stage: Stage):
    stage.costs = {"a": ModelCost(Usage(1, 1), 0.5), "b": ModelCost(Usage(7, 0))}
    text = (await stage.reply("/cost")).text
    assert "price not known" in text
    assert text.splitlines()[-1] == "total: $0.5000, and what has no known price"
    stage.costs = {"b": ModelCost(Usage(7, 0))}
    assert (await stage.reply("/cost")).text.splitlines()[-1] == "total: not known"
    stage.costs = {}
    assert "$" not in (await stage.reply("/cost")).text


# ------------------------------------------------------------------------------------------------ model


async def test_model_shows_and_sets(stage: Stage):
    assert stage.model.id in (await stage.reply("/model")).text
    assert "claude-sonnet" in (await stage.reply("/model sonnet")).text
    assert stage.model.id.startswith("claude-sonnet")


@pytest.mark.parametrize(("typed", "near"), [("sonet", "sonnet"), ("antropic/claude-opus-5", "anthropic/")])
async def test_an_unknown_model_is_an_error_that_names_the_nearest_and_changes_nothing(
    stage: Stage, typed: str, near: str
):
    before = stage.model
    reply = await stage.reply(f"/model {typed}")
    assert reply.is_error
    assert near in reply.text
    assert stage.model == before


async def test_a_model_that_only_the_provider_may_know_is_taken_and_said_to_be_unknown(stage: Stage):
    reply = await stage.reply("/model anthropic/claude-sonet-5")
    assert not reply.is_error
    assert "`claude-sonnet-5`" in reply.text


# ------------------------------------------------------------------------------------------------ permissions


async def test_permissions_show_the_mode_and_every_rule_with_its_source(stage: Stage):
    rules = (
        parse_rule("Bash(npm test:*)", "allow", "settings A"),
        parse_rule("Read(~/.ssh/**)", "deny", "settings B"),
        parse_rule("Bash(git push:*)", "ask", "settings C"),
    )
    stage.policy = Policy("acceptEdits", rules)
    lines = (await stage.reply("/permissions")).text.splitlines()
    assert lines[:4] == [
        "mode: acceptEdits",
        "deny   Read(~/.ssh/**)  # settings B",
        "ask    Bash(git push:*)  # settings C",
        "allow  Bash(npm test:*)  # settings A",
    ]


async def test_permissions_list_what_was_denied_with_what_was_wanted(stage: Stage):
    stage.history = History.fold([
        assistant_fragment("m", "r", "model", ToolUse("t1", "Bash", {"command": "git push"})),
        PermissionDecided("t1", "Bash", "deny", "Bash(git push:*)", "settings C"),
        PermissionDecided("t2", "Read", "allow", "", "built in"),
    ])
    text = (await stage.reply("/permissions")).text
    assert "denied in this session: 1\n  Bash(git push): Bash(git push:*) of settings C" in text


async def test_permissions_say_in_words_why_a_call_was_denied_that_no_rule_denied(stage: Stage):
    """None of the names that only the source has."""
    denied = [
        ("can_use_tool", "caller"),
        ("", "default"),
        ("plan", "mode"),
        ("git's internals", "protected paths"),
    ]
    stage.history = History.fold([
        PermissionDecided(f"t{place}", "Bash", "deny", rule, source)
        for place, (rule, source) in enumerate(denied)
    ])
    text = (await stage.reply("/permissions")).text
    assert "can_use_tool" not in text
    assert [line.partition(": ")[2] for line in text.splitlines()[-4:]] == [
        "asked for, and the answer was no",
        "no rule covers it, and nobody was asked",
        "the mode `plan`",
        "git's internals of protected paths",
    ]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ('"git push --force"', "denied"),
        ("git push --force", "denied"),
        ("git status $(git push)", "denied"),
        ("'ls -la'", "allowed"),
        ("ls -la", "allowed"),
        ("   ls   -la", "allowed"),
        ("Read   .", "allowed"),
        ("npm --version; touch x", "asked"),
        ("X=`touch y` ls", "asked"),
        ("Read .", "allowed"),
        ("Edit a.txt", "asked"),
    ],
)
async def test_permissions_explain_says_what_would_become_of_a_call(stage: Stage, asked: str, answer: str):
    stage.policy = Policy("default", (parse_rule("Bash(git push:*)", "deny", "settings"),))
    reply = await stage.reply(f"/permissions explain {asked}")
    assert reply.text.startswith(f"{answer}:")
    assert stage.ran == []


async def test_permissions_do_nothing_else(stage: Stage):
    for wrong in ("explain", "allow Bash", "explain ''"):
        assert (await stage.reply(f"/permissions {wrong}")).is_error


# ------------------------------------------------------------------------------------------------ memory, status, config


async def test_memory_lists_what_was_loaded_and_what_was_left_out(stage: Stage):
    stage.instructions = LoadedInstructions(
        (InstructionFile(Path("/p/AGENTS.md"), "instructions", "project", Path("/p"), "x" * 42),),
        (InstructionProblem(Path("/p/CLAUDE.md"), "refused", "it leads outside"),),
    )
    text = (await stage.reply("/memory")).text
    assert all(part in text for part in ("/p/AGENTS.md", "42 characters", "/p/CLAUDE.md", "it leads outside"))


async def test_memory_lists_what_was_attached_since_and_says_when_a_model_is_given_none(stage: Stage):
    stage.history = History.fold([
        attachment_message("u", Reminder("nested_instructions", "text", "/p/sub/AGENTS.md"))
    ])
    assert "/p/sub/AGENTS.md" in (await stage.reply("/memory")).text
    stage.changes = {"model": replace(stage.model, short_prompt=True)}
    assert "AGENTS" not in (await stage.reply("/memory")).text


async def test_status_tells_what_the_conversation_is_made_of(stage: Stage):
    text = (await stage.reply("/status")).text
    assert all(
        part in text for part in (stage.model.id, str(stage.project), "the-session", "default", "sandbox")
    )


async def test_status_tells_whether_the_project_is_trusted(stage: Stage):
    assert "could act" in (await stage.reply("/status")).text
    stage.project_command("x", "text")
    assert "not trusted" in (await stage.reply("/status")).text
    stage.trust_the_project()
    assert "not trusted" not in (await stage.reply("/status")).text


async def test_rules_that_answers_made_stand_in_status_and_config_with_their_file_and_as_permissions_has_them(
    stage: Stage,
):
    file = write(
        stage.project / ".ostinato" / "settings.local.json",
        '{"permissions": {"allow": ["Bash(git commit:*)"]}}',
    )
    rules = (
        parse_rule("Bash(git commit:*)", "allow", ANSWERED),
        parse_rule("Bash(git push:*)", "allow", ANSWERED),
    )
    stage.policy = Policy("default", rules)
    stage.changes = {"trust": None}
    status, config = (await stage.reply("/status")).text, (await stage.reply("/config")).text
    assert ".ostinato/settings.local.json" in status
    assert "no settings files" not in status
    assert "brings nothing" not in status
    kept, held = config.splitlines()
    assert "Bash(git commit:*)" in kept
    assert str(file) in kept
    assert "Bash(git push:*)" in held
    assert "this conversation" in held


async def test_status_names_the_kinds_of_what_waits_for_trust_as_trust_show_does(stage: Stage):
    write(stage.project / ".ostinato" / "settings.json", '{"model": "opus", "env": {"A": "b"}}')
    stage.project_command("x", "text")
    loaded = load_settings(Places(stage.project, stage.home / ".ostinato", None, ()))
    in_force = effective(loaded, is_trusted=False)
    stage.changes = {"settings": SettingsInForce(in_force)}
    text = (await stage.reply("/status")).text
    trust = stage.scene().trust
    assert trust is not None
    kinds = [part.kind for part in waiting(in_force.withheld, trust.things)]
    assert kinds == ["environment variables", "models and addresses", "commands, skills and agents"]
    assert ", ".join(kinds) in text


async def test_config_shows_each_setting_with_its_origin_hides_secrets_and_names_what_was_left_out(
    stage: Stage,
):
    file = write(
        stage.home / ".ostinato" / "settings.json",
        '{"model": "opus", "env": {"API_KEY": "hunter2"}, "maxTurns": "many"}',
    )
    loaded = load_settings(Places(stage.project, stage.home / ".ostinato", None, ()))
    stage.changes = {
        "settings": SettingsInForce(effective(loaded, is_trusted=False), loaded.problems, (file,))
    }
    text = (await stage.reply("/config")).text
    assert f'model = "opus"  # user: {file}' in text
    assert "hunter2" not in text
    assert "`maxTurns`" in text
    assert ".ostinato/settings.json" in (await stage.reply("/status")).text


# ------------------------------------------------------------------------------------------------ sessions


async def test_exit_and_clear_are_for_the_one_who_holds_the_conversation(stage: Stage):
    assert (await stage.reply("/exit")).next_step == Leave()
    cleared = await stage.reply("/clear")
    assert cleared.next_step == StartAnew()


def keep_session(
    stage: Stage, session_id: str, prompt: str, modified_s: int, folder: Path | None = None
) -> Path:
    writer = start_session(stage.places.data_root, folder or stage.project, session_id, now=FakeClock().now)
    assert isinstance(writer, SessionWriter)
    writer.write(user_prompt("u", prompt))
    writer.close()
    assert stage.places.data_root is not None
    path = next(stage.places.data_root.rglob(f"{session_id}.jsonl"))
    os.utime(path, (modified_s, modified_s))
    return path


async def test_resume_lists_the_other_sessions_newest_first_and_opens_one_by_number_or_id(stage: Stage):
    old = keep_session(stage, "aaaa-1", "fix the \x1b[2J parser", 1_000_000_000)
    new = keep_session(stage, "bbbb-2", "中文 prompt", 1_100_000_000)
    keep_session(stage, "the-session", "this one", 1_200_000_000)
    text = (await stage.reply("/resume")).text
    first, second = text.splitlines()[:2]
    assert first.split()[0] == "1"
    assert "中文 prompt" in first
    assert "2001-09-0" in second
    assert "\x1b" not in text
    assert "this one" not in text
    for typed, path in (("1", new), ("2", old), ("aaaa", old), ("bbbb-2", new)):
        assert (await stage.reply(f"/resume {typed}")).next_step == OpenSession(path)


async def test_resume_of_none_of_several_or_of_the_open_session_is_an_error(stage: Stage):
    keep_session(stage, "aaaa-1", "one", 1_000_000_000)
    keep_session(stage, "aaaa-2", "two", 1_000_000_000)
    keep_session(stage, "the-session", "this one", 1_200_000_000)
    for typed in ("3", "0", "zzz", "aaaa", "the-session", "../../etc/passwd"):
        reply = await stage.reply(f"/resume {typed}")
        assert (reply.is_error, reply.next_step) == (True, None)


async def test_where_there_is_one_other_session_a_wrong_number_says_which(stage: Stage):
    keep_session(stage, "aaaa-1", "write a page", 1_000_000_000)
    text = (await stage.reply("/resume 2")).text
    assert [
        one for one in ("one other session", "aaaa-1", "write a page", "/resume 1") if one not in text
    ] == []


async def test_what_resume_cannot_find_is_told_with_what_there_is(stage: Stage):
    keep_session(stage, "aaaa-1", "fix the \x1b[2J parser", 1_000_000_000)
    keep_session(stage, "aaaa-2", "write a page", 1_000_000_001)
    for typed, named in {
        "7": ("1 to 2", "aaaa-2", "write a page"),
        "zzzz": ("aaaa-1", "parser", "aaaa-2", "write a page"),
        "aaaa": ("aaaa-1", "parser", "aaaa-2", "write a page"),
    }.items():
        text = (await stage.reply(f"/resume {typed}")).text
        assert [one for one in named if one not in text] == []
        assert "\x1b" not in text


async def test_a_number_is_never_the_beginning_of_an_id_of_another_folder(stage: Stage):
    keep_session(stage, "1aaa-1", "elsewhere", 1_000_000_000, stage.home)
    reply = await stage.reply("/resume 1")
    assert (reply.is_error, reply.next_step) == (True, None)


async def test_resume_says_what_the_session_is_about(stage: Stage):
    keep_session(stage, "aaaa-1", "write a page", 1_000_000_000)
    for typed in ("1", "aaaa-1"):
        assert "write a page" in (await stage.reply(f"/resume {typed}")).text


async def test_without_a_home_there_are_no_sessions_and_no_error(stage: Stage):
    stage.changes = {"places": type(stage.places)(stage.project)}
    assert not (await stage.reply("/resume")).is_error


# ------------------------------------------------------------------------------------------------ export

TICKS = "````\nfour ticks"
RECORDS: list[Record] = [
    user_prompt("u1", "fix # it"),
    meta_prompt("u2", "only for the model", origin="recovery"),
    attachment_message("u3", Reminder("date", "only for the model")),
    assistant_fragment("a1", "r1", "m", Thinking("hidden thoughts")),
    assistant_fragment("a2", "r1", "m", Text("I look")),
    assistant_fragment("a3", "r1", "m", ToolUse("t1", "Bash", {"command": "ls"})),
    tool_result_message("u4", ToolResult("t1", f"out\x1b[2J {TICKS}", is_error=True)),
    attachment_message("q1", QueuedCommand("and the tests")),
    SystemMessage("s1", "notice", "two\nlines"),
    SystemMessage("s2", "local_command_output", "only for the model: an export of before"),
    assistant_fragment("a4", "r2", "m", Text("taken back")),
    Retract("e1", ("a4",)),
    assistant_fragment("a5", "r3", "m", Text("came back")),
    Retract("e2", ("a5",)),
    Undo("e3", "e2"),
]


async def test_export_shows_the_conversation_as_it_was_said(stage: Stage):
    stage.history = History.fold(RECORDS)
    text = (await stage.reply("/export")).text
    assert text == (await stage.reply("/export -")).text
    for part in (
        "fix # it",
        "I look",
        "**Bash**",
        '"command": "ls"',
        "and the tests",
        "> two\n> lines",
        "came back",
    ):
        assert part in text
    for part in ("only for the model", "hidden thoughts", "taken back", "\x1b"):
        assert part not in text
    assert f"`````\nout\\u{{1b}}[2J {TICKS}\n`````" in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## You",
        "## ostinato",
        "## You",
        "## ostinato",
    ]


async def test_export_keeps_prompts_apart_when_the_first_got_no_reply(stage: Stage):
    typed = (
        user_prompt("u1", "one"),
        user_prompt("u2", "two"),
        attachment_message("q", QueuedCommand("three")),
    )
    stage.history = History.fold([*typed, assistant_fragment("a", "r", "m", Text("yes"))])
    said = (await stage.reply("/export")).text
    assert said.split("\n\n")[1:-2] == ["## You", "one", "## You", "two", "## You", "three"]


async def test_export_says_once_where_a_reply_broke_off(stage: Stage):
    half = replace(assistant_fragment("a", "r", "m", Text("half a sen")), is_incomplete=True)
    stage.history = History.fold([user_prompt("u1", "one"), half, closing_fragment("b", "r", "m")])
    said = (await stage.reply("/export")).text
    assert said.split("\n\n")[1:5] == ["## You", "one", "## ostinato", "half a sen"]
    assert said.count(CUT_OFF) == 1


async def test_export_writes_a_new_private_file(stage: Stage):
    stage.history = History.fold(RECORDS)
    for name in ("talk.md", "'with space.md'"):
        assert not (await stage.reply(f"/export {name}")).is_error
    path = stage.project / "talk.md"
    assert path.read_text() == (await stage.reply("/export")).text
    assert path.stat().st_mode & 0o777 == 0o600
    assert (stage.project / "with space.md").exists()


async def test_of_two_exports_to_one_name_at_the_same_time_one_is_whole_and_the_other_refused(stage: Stage):
    stage.history = History.fold(RECORDS)
    replies: list[bool] = []

    async def export() -> None:
        replies.append((await stage.reply("/export talk.md")).is_error)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(export)
    assert sorted(replies) == [False, *[True] * 7]
    assert (stage.project / "talk.md").read_text() == (await stage.reply("/export")).text


async def test_export_leaves_whatever_is_there_as_it_is(stage: Stage):
    write(stage.project / "there.md", "mine")
    (stage.project / "folder").mkdir()
    (stage.project / "link.md").symlink_to(stage.project / "there.md")
    (stage.project / "dangling.md").symlink_to(stage.root / "outside.md")
    os.mkfifo(stage.project / "pipe.md")
    before = sorted(path.name for path in stage.root.rglob("*"))
    wrong = ("there.md", "folder", "link.md", "dangling.md", "pipe.md", "missing/x.md", "..", "x" * 300)
    for name in (*wrong, "''", "a\0b", "a\0/b"):
        reply = await stage.reply(f"/export {name}")
        assert reply.is_error
        assert "hint:" in reply.text or name not in wrong
    assert (stage.project / "there.md").read_text() == "mine"
    assert sorted(path.name for path in stage.root.rglob("*")) == before


async def test_export_obeys_deny_rules_and_the_protection_of_settings_and_hooks(stage: Stage):
    (stage.project / ".git" / "hooks").mkdir(parents=True)
    (stage.project / "private").mkdir()
    (stage.project / "alias").symlink_to(stage.project / ".git" / "hooks")
    stage.policy = Policy("bypassPermissions", (parse_rule("Edit(private/**)", "deny", "settings"),))
    assert (await stage.reply("/export private/x.md")).is_error
    stage.policy = Policy("default", stage.policy.rules)
    for name in ("private/x.md", ".git/hooks/post-commit", "alias/post-commit", "~/.bashrc", ".envrc"):
        assert (await stage.reply(f"/export {name}")).is_error
    assert list((stage.project / ".git" / "hooks").iterdir()) == []
    assert list((stage.project / "private").iterdir()) == []
    assert list(stage.home.iterdir()) == []
    assert not (await stage.reply("/export ~/talk.md")).is_error
    assert (stage.home / "talk.md").exists()
