"""An engine: set up or refused with a hint, kept on disk, gone on with after anything, one query at a time."""

import os
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import msgspec
import pytest
from msgspec.structs import replace

import ostinato
from ostinato.codec import encode
from ostinato.engine.assemble import open_engine
from ostinato.engine.costs import cost_usd
from ostinato.engine.options import Allow, Deny, Options, PermissionAsked, QueryOptions
from ostinato.engine.query import options_from
from ostinato.errors import ConfigurationError, JournalError, ModelError, UsageError
from ostinato.events import Event, Terminal, ToolEnd, ToolStart
from ostinato.messages import ToolResult, UserMessage
from ostinato.ports import Model, Prices
from ostinato.testing import (
    SCRIPTED_FACTS,
    SCRIPTED_USAGE,
    Fails,
    Gate,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    kinds,
    result,
    say,
    terminal,
    waits_at,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


def options(work: Path, home: Path, model: Model | str | None = None, **more: Any) -> Options:
    return Options(cwd=work, model=model, environment={"HOME": str(home), "PATH": "/usr/bin:/bin"}, **more)


async def play(chosen: Options, prompt: str = "go") -> list[Event]:
    async with open_engine(chosen) as engine:
        return [event async for event in engine.submit_message(prompt)]


def outcomes(events: list[Event]) -> list[str]:
    return [event.outcome for event in events if isinstance(event, ToolEnd)]


async def test_two_prompts_share_one_conversation(work: Path, home: Path):
    model = ScriptedModel(Reply(say("first")), Reply(say("second")))
    async with open_engine(options(work, home, model)) as engine:
        for prompt in ("one", "two"):
            assert terminal([event async for event in engine.submit_message(prompt)]).reason == "completed"
    assert [m.role for m in model.requests[1].messages] == ["user", "assistant", "user"]
    assert list(model.requests[1].messages[:1]) == list(model.requests[0].messages)


async def test_a_session_is_gone_on_with_by_its_id_or_as_the_newest(work: Path, home: Path):
    await play(options(work, home, ScriptedModel(Reply(say("hello"))), session_id="first"), "remember 42")
    for more in ({"resume": "first"}, {"continue_session": True}):
        model = ScriptedModel(Reply(say("42")))
        await play(options(work, home, model, **more), "what was it?")
        said = [block for message in model.requests[0].messages for block in message.content]
        assert any("remember 42" in getattr(block, "text", "") for block in said)


async def test_a_prompt_is_on_disk_before_the_model_is_called(work: Path, home: Path):
    seen: list[str] = []

    def script(_request: object, _number: int) -> Reply:
        seen.extend(path.read_text() for path in (home / ".ostinato" / "projects").rglob("*.jsonl"))
        return Reply(say("ok"))

    await play(options(work, home, ScriptedModel(script=script)), "the very prompt")
    assert "the very prompt" in seen[0]


async def test_walking_away_in_the_middle_leaves_a_conversation_that_goes_on(work: Path, home: Path):
    gate = Gate()
    model = ScriptedModel(Reply(say("a"), call("Wait", "t1")), Reply(say("b")))
    waiting = (fake_tool("Wait", waits_at(gate)),)
    chosen = options(work, home, model, extra_tools=waiting, allowed_tools=("Wait",))
    async with open_engine(chosen) as engine:
        events = engine.submit_message("one")
        async for event in events:
            if isinstance(event, ToolStart):
                break
        await gate.reached()
        await events.aclose()
        assert terminal([event async for event in engine.submit_message("two")]).reason == "completed"
        answers = [
            m for m in engine.history.view() if isinstance(m, UserMessage) and m.origin == "tool_result"
        ]
    assert len(answers) == 1


async def test_submissions_at_the_same_time_take_their_turns_in_order(work: Path, home: Path):
    gate = Gate()
    model = ScriptedModel(Reply(gate, say("a")), Reply(say("b")), Reply(say("c")))
    ended: list[str] = []

    async with open_engine(options(work, home, model)) as engine:

        async def submit(prompt: str) -> None:
            ended.append(result([event async for event in engine.submit_message(prompt)]).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(submit, "one")
            await gate.reached()
            for prompt in ("two", "three"):
                tasks.start_soon(submit, prompt)
                await anyio.wait_all_tasks_blocked()
            assert len(model.requests) == 1
            gate.open()
    assert ended == ["a", "b", "c"]
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]


async def test_a_submission_ends_with_its_terminal_and_one_result(work: Path, home: Path):
    async with open_engine(options(work, home, ScriptedModel(Reply(say("hi"))))) as engine:
        events = [event async for event in engine.submit_message("go")]
    assert kinds(events)[-2:] == ("terminal", "result")
    assert result(events).text == "hi"


# ------------------------------------------------------------------ what may run


async def test_without_anybody_to_ask_a_write_is_denied_and_listed(work: Path, home: Path):
    model = ScriptedModel(
        Reply(call("Write", "t1", file_path="b.txt", content="x")), Reply(say("I could not"))
    )
    events = await play(options(work, home, model))
    assert outcomes(events) == ["denied"]
    assert [denial.tool_name for denial in terminal(events).denials] == ["Write"]
    assert not (work / "b.txt").exists()


async def test_reading_inside_the_folder_is_allowed_and_outside_is_not(work: Path, home: Path):
    (home / "secret").write_text("s")
    model = ScriptedModel(
        Reply(
            call("Read", "t1", file_path="a.txt"),
            call("Read", "t2", file_path=str(home / "secret")),
            call("Bash", "t3", command="cat a.txt"),
            call("Bash", "t4", command=f"cat {home / 'secret'}"),
        ),
        Reply(say("done")),
    )
    events = await play(options(work, home, model))
    ended = {event.tool_use_id: event.outcome for event in events if isinstance(event, ToolEnd)}
    assert ended == {"t1": "ok", "t2": "denied", "t3": "ok", "t4": "denied"}


@pytest.mark.parametrize(
    ("mode", "written"),
    [("acceptEdits", True), ("plan", False), ("dontAsk", False), ("bypassPermissions", True)],
)
async def test_the_mode_decides_on_edits(work: Path, home: Path, mode: Any, written: bool):
    model = ScriptedModel(Reply(call("Write", "t1", file_path="b.txt", content="x")), Reply(say("done")))
    await play(options(work, home, model, permission_mode=mode))
    assert (work / "b.txt").exists() is written


async def test_a_protected_path_is_not_written_without_a_yes_even_when_edits_are_accepted(
    work: Path, home: Path
):
    blocks = (
        call("Write", "t1", file_path=".git/hooks/pre-commit", content="x"),
        call("Write", "t2", file_path=".bashrc", content="x"),
        call("Bash", "t3", command="mkdir -p .vscode && touch .vscode/tasks.json"),
    )
    events = await play(
        options(work, home, ScriptedModel(Reply(*blocks), Reply(say("ok"))), permission_mode="acceptEdits")
    )
    assert outcomes(events) == ["denied"] * 3


async def test_the_caller_is_asked_with_the_reason_and_its_word_counts(work: Path, home: Path):
    asked: list[PermissionAsked] = []

    async def answer(question: PermissionAsked) -> Allow | Deny:
        asked.append(question)
        await anyio.lowlevel.checkpoint()
        if question.input["file_path"] == "b.txt":
            return Allow({"file_path": "c.txt", "content": "changed"})
        return Deny("not that one")

    model = ScriptedModel(
        Reply(
            call("Write", "t1", file_path="b.txt", content="x"),
            call("Write", "t2", file_path="d.txt", content="x"),
        ),
        Reply(say("done")),
    )
    await play(options(work, home, model, can_use_tool=answer))
    assert sorted(question.tool_use_id for question in asked) == ["t1", "t2"]
    assert (work / "c.txt").read_text() == "changed"
    assert not (work / "b.txt").exists()
    assert not (work / "d.txt").exists()
    results = {b.tool_use_id: b for b in model.requests[1].messages[-1].content if isinstance(b, ToolResult)}
    assert "not that one" in str(results["t2"].content)


async def test_a_tool_that_is_denied_whole_is_not_shown_to_the_model(work: Path, home: Path):
    model = ScriptedModel(Reply(say("ok")))
    await play(options(work, home, model, disallowed_tools=("Bash", "Write")))
    offered = [tool.name for tool in model.requests[0].tools]
    assert offered == ["Edit", "Glob", "Grep", "MultiEdit", "NotebookEdit", "Read", "TodoWrite", "WebFetch"]


async def test_a_deny_rule_holds_in_every_mode(work: Path, home: Path):
    model = ScriptedModel(Reply(call("Bash", "t1", command="rm -rf a.txt")), Reply(say("ok")))
    events = await play(
        options(work, home, model, disallowed_tools=("Bash(rm:*)",), permission_mode="bypassPermissions")
    )
    assert outcomes(events) == ["denied"]
    assert (work / "a.txt").exists()


# ------------------------------------------------------------------ what is refused, with a hint


async def refused(chosen: Options, error: type[ostinato.OstinatoError], prompt: str = "go") -> None:
    with pytest.raises(error) as caught:
        await play(chosen, prompt)
    assert caught.value.hint


async def test_bad_input_is_refused_before_anything_is_sent(work: Path, home: Path):
    model = ScriptedModel()
    await refused(options(work, home), ConfigurationError)
    await refused(options(work, home, "nothing/such"), ConfigurationError)
    await refused(options(work / "missing", home, model), UsageError)
    await refused(options(work, home, model, add_dirs=(work / "missing",)), UsageError)
    await refused(options(work, home, model, allowed_tools=("Bash(",)), ConfigurationError)
    await refused(options(work, home, model, resume="nothing"), UsageError)
    await refused(options(work, home, model, continue_session=True), UsageError)
    await refused(options(work, home, model), UsageError, prompt=" \n")
    assert model.requests == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_turns": 0},
        {"max_turns": -1},
        {"max_turns": "3"},
        {"max_turns": 1.5},
        {"max_turns": True},
        {"max_output_tokens": 0},
        {"max_output_tokens": -5},
        {"permission_mode": "acceptedits"},
        {"allowed_tools": "Bash"},
        {"disallowed_tools": "Bash"},
        {"add_dirs": "/tmp"},
        {"resume": "a", "continue_session": True},
        {"resume": "a", "session_id": "b"},
        {"session_id": "b", "continue_session": True},
        {"extra_tools": [fake_tool("bad name!")]},
        {"extra_tools": [fake_tool("Bash")]},
        {"extra_tools": [replace(fake_tool("Look"), input_schema={"type": "array"})]},
    ],
    ids="+".join,  # a tool's own text holds an address
)
async def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_opened(
    work: Path, home: Path, wrong: dict[str, Any]
):
    model = ScriptedModel()
    await refused(options(work, home, model, **wrong), UsageError)
    assert model.requests == []
    assert os.listdir(home) == []


def test_one_folder_in_place_of_a_list_is_refused_through_the_front_door_too(work: Path):
    with pytest.raises(UsageError):
        ostinato.run(
            "go", cwd=work, model=ScriptedModel(), keep_session=False, **cast("Any", {"add_dirs": "/tmp"})
        )


async def test_a_session_id_that_is_taken_is_refused(work: Path, home: Path):
    await play(options(work, home, ScriptedModel(Reply(say("x"))), session_id="same"))
    await refused(options(work, home, ScriptedModel(), session_id="same"), JournalError)


async def test_a_home_that_cannot_be_written_is_said_and_runs(work: Path, tmp_path: Path):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    chosen = options(work, nowhere, ScriptedModel(Reply(say("fine"))))
    async with open_engine(chosen) as engine:
        assert engine.setting.notices
        assert terminal([event async for event in engine.submit_message("go")]).reason == "completed"


async def test_a_failed_call_leaves_a_conversation_that_can_be_tried_again(work: Path, home: Path):
    refused = ModelError("no", kind="invalid_request", status=400)
    model = ScriptedModel(Fails(refused), Reply(say("now it works")))
    async with open_engine(options(work, home, model)) as engine:
        assert terminal([event async for event in engine.submit_message("go")]).reason == "model_error"
        assert terminal([event async for event in engine.submit_message("again")]).reason == "completed"


# ------------------------------------------------------------------ the library's front door


async def test_query_yields_events_and_ends_with_its_terminal(work: Path, home: Path):
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    events = [
        event
        async for event in ostinato.query(
            "go", cwd=str(work), model=ScriptedModel(Reply(say("hi"))), environment=environment
        )
    ]
    assert isinstance(events[-1], Terminal)


def test_the_synchronous_form_returns_the_text_and_the_reason(work: Path, home: Path):
    result = ostinato.run(
        "go", cwd=work, model=ScriptedModel(Reply(say("hi "), say("there"))), keep_session=False
    )
    assert (result.reason, result.text, result.turn_count) == ("completed", "hi there", 1)


async def test_the_synchronous_form_says_what_to_use_where_an_event_loop_runs(work: Path):
    with pytest.raises(UsageError) as caught:
        ostinato.run("go", cwd=work, model=ScriptedModel(), keep_session=False)
    assert "ostinato.query" in caught.value.hint


def test_an_option_that_does_not_exist_is_named(work: Path):
    with pytest.raises(TypeError, match="modle"):
        options_from(cast("QueryOptions", {"cwd": work, "modle": "x"}))


async def test_the_prompt_and_the_tools_are_small_and_hold_nothing_that_changes(work: Path, home: Path):
    model = ScriptedModel(Reply(say("a")), Reply(say("b")))
    await play(options(work, home, model), "one")
    await play(options(work, home, model), "two")
    first, second = model.requests
    assert (first.system, first.tools) == (second.system, second.tools)
    size = sum(len(part.encode()) for part in first.system) + sum(
        len(encode({"name": t.name, "description": t.description, "input_schema": t.input_schema}))
        for t in first.tools
    )
    assert size <= 8_000


async def test_a_bare_query_ends_with_its_terminal_also_where_no_model_is_asked(work: Path, home: Path):
    given: QueryOptions = {"cwd": work, "model": ScriptedModel(), "environment": {"HOME": str(home)}}
    events = [event async for event in ostinato.query("/help", **given)]
    assert kinds(events) == ("system", "terminal")
    assert terminal(events).reason == "completed"


def test_the_synchronous_form_tells_what_the_engine_tells(work: Path, home: Path):
    facts = msgspec.structs.replace(SCRIPTED_FACTS, prices=Prices(1.0, 2.0))
    model = ScriptedModel(Reply(call("Read", "t1", file_path="a.txt")), Reply(say("hi")), facts=facts)
    environment = {"HOME": str(home)}
    told = ostinato.run("go", cwd=work, model=model, environment=environment, session_id="mine")
    assert told.usage == SCRIPTED_USAGE.plus(SCRIPTED_USAGE) == told.costs[facts.id].usage
    assert told.total_cost_usd == pytest.approx(cost_usd(told.usage, Prices(1.0, 2.0)))
    assert (told.cost_is_known, told.session_id, told.turn_count) == (True, "mine", 2)
    assert isinstance(told.events[-1], Terminal)
