"""Slash commands through an engine, as a library uses it: what is answered here costs no request, what is sent is the prompt."""

import os
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.engine.slash.scene import write

from ostinato.config.places import Places
from ostinato.config.project_things import scan_project
from ostinato.config.trust import record_trust
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import ALL_SETTING_SOURCES, Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import ModelError
from ostinato.events import Result, SystemEvent, Terminal, ToolEnd
from ostinato.messages import Text
from ostinato.ports import ModelRequest
from ostinato.testing import Fails, Reply, ScriptedModel, call, say


class Folders:
    """A home and a project, and options over them."""

    def __init__(self, root: Path) -> None:
        self.home, self.work = root / "home", root / "work"
        self.home.mkdir()
        self.work.mkdir()

    def options(self, model: ScriptedModel, **more: Any) -> Options:
        more = {"setting_sources": ALL_SETTING_SOURCES, **more}
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return Options(cwd=self.work, model=model, environment=environment, **more)

    def command(self, name: str, text: str, *, of: str = "work") -> Path:
        return write(getattr(self, of) / ".ostinato" / "commands" / f"{name}.md", text)

    def trust(self) -> None:
        places = Places(self.work, self.home / ".ostinato", self.home / ".claude")
        record_trust(self.home / ".ostinato", self.work, scan_project(places))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


async def submit(engine: QueryEngine, line: str) -> tuple[Result, list[Any]]:
    events = [event async for event in engine.submit_message(line)]
    results = [event for event in events if isinstance(event, Result)]
    assert len(results) == 1
    assert events[-1] is results[0]
    return results[0], events


def last_prompt(request: ModelRequest) -> str:
    return "\n".join(block.text for block in request.messages[-1].content if isinstance(block, Text))


async def test_a_command_is_answered_before_any_model_sees_it(folders: Folders):
    model = ScriptedModel()
    async with open_engine(folders.options(model)) as engine:
        for line in (
            "/help",
            "/cost",
            "/status",
            "/memory",
            "/permissions",
            "/config",
            "/resume",
            "/model",
            "/export",
        ):
            result, events = await submit(engine, line)
            assert (result.subtype, result.terminal_reason, result.turn_count) == ("success", None, 0)
            assert result.text
            assert [event.message.text for event in events if isinstance(event, SystemEvent)] == [result.text]
            assert not any(isinstance(event, Terminal) for event in events)
    assert model.requests == []


async def test_an_unknown_command_is_an_error_and_nothing_is_sent(folders: Folders):
    model = ScriptedModel()
    async with open_engine(folders.options(model)) as engine:
        result, _ = await submit(engine, "/cots")
        assert result.is_error
        assert "`/cost`" in result.text
        assert model.requests == []


async def test_a_path_and_a_line_after_a_space_reach_the_model_as_they_are(folders: Folders):
    model = ScriptedModel(Reply(say("a")), Reply(say("b")))
    async with open_engine(folders.options(model)) as engine:
        for number, line in enumerate(("/etc/hosts is wrong", " /cost")):
            await submit(engine, line)
            assert line in last_prompt(model.requests[number])


async def test_a_command_file_becomes_the_prompt_that_is_sent_and_kept(folders: Folders):
    (folders.work / "a.txt").write_text("alpha beta\n")
    folders.command("fix", "Fix $1, see @a.txt")
    model = ScriptedModel(Reply(say("done")))
    async with open_engine(folders.options(model)) as engine:
        await submit(engine, "/fix it")
        assert "/fix" not in str(engine.get_messages())
    heard = str(model.requests[0].messages)
    assert "Fix it, see @a.txt" in heard
    assert "alpha beta" in heard


@pytest.mark.process
async def test_what_a_shell_line_prints_names_no_file(folders: Folders):
    (folders.work / "secret.txt").write_text("the secret\n")
    (folders.work / "log").write_text("@secret.txt\n")
    folders.command("look", "Look: !`cat log`", of="home")
    model = ScriptedModel(Reply(say("done")))
    async with open_engine(folders.options(model)) as engine:
        await submit(engine, "/look")
    assert "Look: @secret.txt" in last_prompt(model.requests[0])
    assert "the secret" not in str(model.requests[0].messages)


@pytest.mark.process
async def test_a_projects_shell_line_runs_only_when_trusted_and_allowed(folders: Folders):
    command = "---\nallowed-tools: Bash(touch:*)\n---\nGo !`touch ran` on"
    folders.command("go", command)
    model = ScriptedModel(Reply(say("done")))
    async with open_engine(folders.options(model)) as engine:
        assert (await submit(engine, "/go"))[0].is_error
    assert not (folders.work / "ran").exists()
    folders.trust()
    async with open_engine(folders.options(model, disallowed_tools=("Bash(touch:*)",))) as engine:
        assert (await submit(engine, "/go"))[0].is_error
    assert not (folders.work / "ran").exists()
    async with open_engine(folders.options(model)) as engine:
        assert not (await submit(engine, "/go"))[0].is_error
    assert (folders.work / "ran").exists()
    assert len(model.requests) == 1


BYPASSES = [
    "X=$(touch ran) npm --version",
    "npm --version; touch ran",
    "npm --version $(touch ran)",
    'npm --version "$(touch ran)"',
    "npm --version && touch ran",
    "npm --version & touch ran",
    "npm --version | tee ran",
    "npm --version > ran",
    "LD_PRELOAD=./a.so npm --version",
    "env X=1 npm --version; touch ran",
    "npm --version <(touch ran)",
    "eval touch ran",
]


@pytest.mark.process
@pytest.mark.parametrize("line", BYPASSES)
async def test_an_allowed_command_lets_no_other_through_in_its_shell_line(folders: Folders, line: str):
    folders.command("go", f"---\nallowed-tools: Bash(npm --version)\n---\nGo !`{line}`", of="home")
    model = ScriptedModel()
    async with open_engine(folders.options(model)) as engine:
        assert (await submit(engine, "/go"))[0].is_error
    assert not (folders.work / "ran").exists()
    assert model.requests == []


@pytest.mark.process
async def test_the_allowed_command_itself_does_run(folders: Folders):
    folders.command("go", "---\nallowed-tools: Bash(npm --version)\n---\nGo !`npm --version`", of="home")
    model = ScriptedModel(Reply(say("done")))
    async with open_engine(folders.options(model)) as engine:
        assert not (await submit(engine, "/go"))[0].is_error


@pytest.mark.process
async def test_without_the_projects_settings_its_commands_are_plain_text(folders: Folders):
    folders.command("go", "---\nallowed-tools: Bash\n---\nGo !`touch ran`")
    folders.command("say", "Say it.")
    folders.trust()
    model = ScriptedModel(Reply(say("done")))
    async with open_engine(folders.options(model, setting_sources=())) as engine:
        refused, _ = await submit(engine, "/go")
        assert refused.is_error
        assert "setting_sources" in refused.text
        assert not (await submit(engine, "/say"))[0].is_error
    assert not (folders.work / "ran").exists()


@pytest.mark.process
async def test_an_interrupt_ends_a_shell_line_that_runs_and_nothing_is_sent(folders: Folders):
    slow = "touch started; while [ ! -e go ]; do read -t 0.01 < <(:); done"
    folders.command("go", f"---\nallowed-tools: Bash\n---\nGo !`{slow}`", of="home")
    model = ScriptedModel()
    ended: list[Result] = []
    async with open_engine(folders.options(model)) as engine:

        async def go() -> None:
            ended.append((await submit(engine, "/go"))[0])

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(go)
                while not (folders.work / "started").exists():
                    await anyio.lowlevel.checkpoint()
                engine.interrupt()
    assert ended[0].terminal_reason == "aborted_streaming"
    assert model.requests == []


async def test_rights_of_a_command_count_for_its_own_query_alone(folders: Folders):
    folders.command("go", "---\nallowed-tools: Write, Edit(**)\n---\nGo.", of="home")
    write_b = call("Write", "t1", file_path="b.txt", content="x")
    write_c = call("Write", "t2", file_path="c.txt", content="x")
    model = ScriptedModel(Reply(write_b), Reply(say("ok")), Reply(write_c), Reply(say("no")))
    async with open_engine(folders.options(model)) as engine:
        _, events = await submit(engine, "/go")
        assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["ok"]
        result, events = await submit(engine, "again")
        assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["denied"]
        assert len(result.denials) == 1
        denials, _ = await submit(engine, "/permissions")
        assert "Write(c.txt)" in denials.text


async def test_clear_begins_a_session_and_resume_goes_back_to_the_old_one(folders: Folders):
    model = ScriptedModel(Reply(say("first")), Reply(say("second")), Reply(say("third")))
    async with open_engine(folders.options(model)) as engine:
        await submit(engine, "remember 42")
        first = engine.session_id
        await submit(engine, "/clear")
        assert engine.session_id != first
        await submit(engine, "something else")
        assert "remember 42" not in str(model.requests[1].messages)
        listed, _ = await submit(engine, "/resume")
        assert "remember 42" in listed.text
        await submit(engine, "/resume 1")
        assert engine.session_id == first
        await submit(engine, "what was it?")
        assert "remember 42" in str(model.requests[2].messages)
        assert "something else" not in str(model.requests[2].messages)


async def test_clear_names_only_a_session_that_can_be_found_again(folders: Folders):
    async with open_engine(folders.options(ScriptedModel(Reply(say("first"))))) as engine:
        empty, said = engine.session_id, (await submit(engine, "/clear"))[0]
        assert empty not in said.text
        await submit(engine, "go")
        kept, said = engine.session_id, (await submit(engine, "/clear"))[0]
        assert kept in said.text
    options = folders.options(ScriptedModel(Reply(say("first"))), keep_session=False)
    async with open_engine(options) as engine:
        await submit(engine, "go")
        lost, said = engine.session_id, (await submit(engine, "/clear"))[0]
        assert lost not in said.text


async def test_an_exported_conversation_is_not_kept_a_second_time(folders: Folders):
    model = ScriptedModel(Reply(say("the only answer")))
    async with open_engine(folders.options(model)) as engine:
        await submit(engine, "go")
        first, _ = await submit(engine, "/export")
        second, _ = await submit(engine, "/export")
    assert "the only answer" in first.text
    assert first.text == second.text
    [kept] = folders.home.rglob("*.jsonl")
    assert kept.read_text().count("the only answer") == 1


async def test_cost_counts_what_was_spent_before_a_resume(folders: Folders):
    model = ScriptedModel(Reply(say("one")))
    async with open_engine(folders.options(model, session_id="s")) as engine:
        await submit(engine, "go")
        before, _ = await submit(engine, "/cost")
    async with open_engine(folders.options(ScriptedModel(), resume="s")) as engine:
        after, _ = await submit(engine, "/cost")
    assert before.text == after.text
    assert "nothing was spent" not in before.text


async def test_model_and_its_window_are_told_as_they_turned_out_to_be(folders: Folders):
    error = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output")
    sized = error.sized(input_tokens=43_000, limit_tokens=48_000, output_limit_tokens=None)
    model = ScriptedModel(Fails(sized), Reply(say("a")))
    async with open_engine(folders.options(model)) as engine:
        assert "48,000" not in (await submit(engine, "/model"))[0].text
        await submit(engine, "go")
        assert "48,000 tokens" in (await submit(engine, "/model"))[0].text


async def test_an_unknown_model_changes_nothing(folders: Folders):
    model = ScriptedModel(Reply(say("still here")))
    async with open_engine(folders.options(model)) as engine:
        assert (await submit(engine, "/model sonet"))[0].is_error
        assert (await submit(engine, "go"))[0].text == "still here"


async def test_exit_tells_the_host_to_leave(folders: Folders):
    async with open_engine(folders.options(ScriptedModel())) as engine:
        result, _ = await submit(engine, "/exit")
        assert result.ends_conversation


async def test_memory_shows_what_the_model_was_given(folders: Folders):
    write(folders.work / "AGENTS.md", "Answer in verse.")
    async with open_engine(folders.options(ScriptedModel())) as engine:
        assert "AGENTS.md" in (await submit(engine, "/memory"))[0].text
