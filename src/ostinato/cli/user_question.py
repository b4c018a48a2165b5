"""The model's questions at the terminal: numbered choices and a line to type; a number takes a choice, other words are the answer.

An empty line leaves a question open; leaving the prompt leaves them all without an answer.
"""

import re
from typing import Final

from ostinato.cli.prompt_line import PromptLine
from ostinato.cli.screen import Screen
from ostinato.user_questions import Answers, UserAsked, UserQuestion
from ostinato.visible_text import one_line, visible

MAX_LINE_CHARACTERS: Final = 500

_PROMPT: Final = "answer? "
_NUMBERS: Final = re.compile(r"\d+(?:[\s,]+\d+)*")


class UserQuestions:
    """Implements `AskUser`. An abort of the query ends the wait."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    async def __call__(self, asked: UserAsked) -> Answers | None:
        await self._screen.until_shown(asked.tool_use_id)
        answers: dict[str, str] = {}
        async with self._screen.held() as line:
            for question in asked.questions:
                line.print_above(user_question_text(question))
                answer = await _answer(question, line)
                if answer is None:
                    return None
                answers[question.question] = answer
        return answers if any(answers.values()) else None


def user_question_text(question: UserQuestion) -> str:
    """Everything but the line on which the answer is typed; the model's lines stand behind a bar."""
    lines = ["The model asks:", *(f"  │ {line}" for line in visible(question.question).split("\n"))]
    for number, choice in enumerate(question.options, 1):
        about = f": {one_line(choice.description, MAX_LINE_CHARACTERS)}" if choice.description else ""
        lines.append(f"{number}  {one_line(choice.label, MAX_LINE_CHARACTERS)}{about}")
    numbers = "numbers" if question.multi_select else "a number"
    lines.append(
        f"type {numbers} or your own words, and Enter" if question.options else "type your answer, and Enter"
    )
    return "\n" + "".join(f"{line}\n" for line in lines)


async def _answer(question: UserQuestion, line: PromptLine) -> str | None:
    while True:
        typed = await line.ask(_PROMPT)
        if typed is None:
            return None
        answer = chosen(question, typed)
        if answer is not None:
            return answer
        line.print_above(f"there is no such choice; they are 1 to {len(question.options)}\n")


def chosen(question: UserQuestion, typed: str) -> str | None:
    """What was meant by a typed line: the labels of numbers, else the words; None for a number without a choice."""
    words = typed.strip()
    if not question.options or not _NUMBERS.fullmatch(words):
        return words
    numbers = dict.fromkeys(int(number) for number in re.findall(r"\d+", words))
    if len(numbers) > 1 and not question.multi_select:
        return words
    if not all(1 <= number <= len(question.options) for number in numbers):
        return None
    return ", ".join(question.options[number - 1].label for number in numbers)
