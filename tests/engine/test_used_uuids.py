"""Each message is looked at once, and the answer is that of the whole view."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.engine.used_uuids import UsedUuids
from ostinato.history import History
from ostinato.messages import user_prompt
from ostinato.records import Retract


class Counted(list[Any]):
    """Counts how often an item is looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


def prompts(*names: str) -> History:
    return History.empty().extend(user_prompt(name, "x") for name in names)


STEPS = st.lists(st.sampled_from(["add", "retract", "branch", "ask"]), max_size=30)


@given(STEPS)
def test_the_answer_is_that_of_the_view_on_any_course(steps: Sequence[str]):
    used, history, older = UsedUuids(), History.empty(), History.empty()
    for number, step in enumerate(steps):
        match step:
            case "add":
                older, history = history, history.append(user_prompt(f"m{number}", "x"))
            case "retract" if len(history):
                history = history.append(Retract(f"e{number}", (history.view()[0].uuid,)))
            case "branch":
                history = older
            case _:
                pass
        there = {message.uuid for message in history.view()}
        asked = {f"m{one}" for one in range(len(steps))}
        assert {uuid for uuid in asked if used.has(uuid, history)} == there


@pytest.mark.parametrize("count", [10, 1_000])
def test_a_message_is_looked_at_once_however_often_is_asked(count: int):
    used, history = UsedUuids(), prompts(*(f"m{number}" for number in range(count)))
    history._closed = looked_at = Counted(history.closed)
    for _ in range(50):
        assert used.has("m1", history)
        assert not used.has("new", history)
    assert looked_at.looks == count
