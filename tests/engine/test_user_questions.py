"""The model's questions reach the program that answers for the person; where there is none they are declined, and work goes on."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.engine.test_stopping import options, play

from ostinato.engine.assemble import open_engine
from ostinato.errors import UsageError
from ostinato.testing import Reply, ScriptedModel, call, result, say, terminal
from ostinato.user_questions import Answers, UserAsked

QUESTION = {"question": "Which?", "options": [{"label": "A"}, {"label": "B", "description": "the other"}]}


def asking(*questions: dict[str, Any]) -> ScriptedModel:
    return ScriptedModel(Reply(call("AskUserQuestion", "t1", questions=list(questions))), Reply(say("ok")))


def sent_names(model: ScriptedModel) -> set[str]:
    return {tool.name for tool in model.requests[0].tools}


async def test_the_answers_of_the_program_are_the_result(tmp_path: Path):
    asked: list[UserAsked] = []

    async def answer(what: UserAsked) -> Answers:
        asked.append(what)
        return {"Which?": "B"}

    model = asking(QUESTION)
    await play(options(tmp_path, model, ask_user=answer))
    assert [(one.tool_use_id, one.questions[0].options[1].description) for one in asked] == [
        ("t1", "the other")
    ]
    assert "Which?\\n→ B" in str(model.requests[1].messages[-1])
    assert "AskUserQuestion" in sent_names(model)


async def test_where_nobody_can_be_asked_the_model_is_told_to_decide_and_is_not_offered_the_tool(
    tmp_path: Path,
):
    model = asking(QUESTION)
    events = await play(options(tmp_path, model))
    assert "Declined: nobody can be asked" in str(model.requests[1].messages[-1])
    assert "AskUserQuestion" not in sent_names(model)
    assert terminal(events).reason == "completed"


async def test_a_person_who_would_not_answer_is_no_failure_of_the_query(tmp_path: Path):
    async def leave(what: UserAsked) -> None:
        del what

    model = asking(QUESTION)
    assert result(await play(options(tmp_path, model, ask_user=leave))).subtype == "success"
    assert "without an answer" in str(model.requests[1].messages[-1])


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [QUESTION] * 5,
        [QUESTION, QUESTION],
        [{"question": " ", "options": []}],
        [{"question": "Which?", "options": [{"label": "A"}, {"label": "A"}]}],
        [{"question": "Which?", "options": [{"label": ""}]}],
        [{"question": "Which?", "options": [{"label": str(n)} for n in range(10)]}],
    ],
)
async def test_what_nobody_could_answer_is_refused_and_asks_nobody(
    tmp_path: Path, questions: list[dict[str, Any]]
):
    async def answer(what: UserAsked) -> Answers:
        raise AssertionError(what)

    model = asking(*questions)
    await play(options(tmp_path, model, ask_user=answer))
    assert "is_error=True" in str(model.requests[1].messages[-1])


async def test_an_abort_ends_the_wait_for_an_answer(tmp_path: Path):
    asked = anyio.Event()

    async def never(what: UserAsked) -> Answers:
        del what
        asked.set()
        await anyio.sleep_forever()
        return {}

    model = ScriptedModel(Reply(call("AskUserQuestion", "t1", questions=[QUESTION])))
    events: list[Any] = []
    async with (
        open_engine(options(tmp_path, model, ask_user=never)) as engine,
        anyio.create_task_group() as tasks,
    ):

        async def run() -> None:
            events.extend([event async for event in engine.submit_message("go")])

        tasks.start_soon(run)
        await asked.wait()
        engine.interrupt()
    assert terminal(events).reason == "aborted_tools"


async def test_what_is_no_function_is_refused_before_anything_is_opened(tmp_path: Path):
    with pytest.raises(UsageError, match="ask_user"):
        await play(options(tmp_path, asking(QUESTION), ask_user="me"))
