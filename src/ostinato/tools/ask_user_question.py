"""AskUserQuestion: one to four questions to the person, with choices."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_FAILURE_CHARACTERS, refusal, success
from ostinato.user_questions import Answers, AskUser, UserAsked, UserQuestion

PROMPT: Final = "Ask the user what only they can decide."

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "options": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                            "required": ["label"],
                        },
                    },
                    "multiSelect": {"type": "boolean"},
                },
                "required": ["question", "options"],
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}

MAX_QUESTIONS: Final = 4
MAX_CHOICES: Final = 9
"""Each has a digit of its own."""

DECLINED: Final = "The user left the questions without an answer. Ask in plain words, or go on without it."


class AskUserQuestionInput(msgspec.Struct, frozen=True):
    questions: tuple[UserQuestion, ...]


def ask_user_question_tool(ask: AskUser) -> Tool:
    """It counts as read-only: the person is asked by it, so nobody is asked about it."""

    async def put_questions(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        questions = msgspec.convert(dict(tool_input), AskUserQuestionInput).questions
        problem = _problem(questions)
        if problem:
            return refusal(problem)
        answers = await ask(UserAsked(context.tool_use_id, questions))
        return refusal(DECLINED) if answers is None else _answered(questions, answers)

    return Tool(
        name="AskUserQuestion",
        description=PROMPT,
        input_schema=SCHEMA,
        call=put_questions,
        cannot_succeed=why_not_ask,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
        interrupt_behaviour="cancel",
        timeout_s=math.inf,  # a person may take as long as they want
    )


async def why_not_ask(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    del context
    return _problem(msgspec.convert(dict(tool_input), AskUserQuestionInput).questions) or None


def _problem(questions: tuple[UserQuestion, ...]) -> str:
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        return f"there are {len(questions)} questions; ask 1 to {MAX_QUESTIONS} at a time"
    if len({one.question for one in questions}) < len(questions):
        return "the same question is asked twice"
    for place, one in enumerate(questions):
        if not one.question.strip():
            return f"`questions[{place}].question` is empty"
        if len(one.options) > MAX_CHOICES:
            return f"`questions[{place}]` has {len(one.options)} choices; at most {MAX_CHOICES} are shown"
        labels = [choice.label.strip() for choice in one.options]
        if not all(labels) or len(set(labels)) < len(labels):
            return f"`questions[{place}].options` has an empty label, or one twice"
    return ""


def _answered(questions: tuple[UserQuestion, ...], answers: Answers) -> ToolOutcome:
    given = {one.question: str(answers.get(one.question, "")).strip() for one in questions}
    lines = [f"{question}\n→ {answer or '(no answer)'}" for question, answer in given.items()]
    return success(
        "\n\n".join(["The user answered:", *lines]),
        max_characters=MAX_FAILURE_CHARACTERS,
        display={"answers": given},
    )
