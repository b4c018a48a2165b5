"""An account made without a model: the user's own words, files, commands; bounded, and the same each time."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ostinato.context.carried import carried_on, carried_text
from ostinato.context.digest import HEAD, digest_text
from ostinato.history import History
from ostinato.messages import (
    Message,
    QueuedCommand,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    attachment_message,
    meta_prompt,
    tool_result_message,
    user_prompt,
)


def told(messages: Sequence[Message]) -> str:
    carried = carried_on(History.empty().extend(messages), messages, 100_000)
    return digest_text(messages, carried, 10_000)


def round_of(call_id: str, name: str, *, is_error: bool = False, **given_input: object) -> list[Message]:
    return [
        assistant_fragment(f"a-{call_id}", f"r-{call_id}", "m", ToolUse(call_id, name, given_input)),
        tool_result_message(f"u-{call_id}", ToolResult(call_id, "out", is_error)),
    ]


WORK: list[Message] = [
    user_prompt("p1", "Fix the build."),
    *round_of("t1", "Read", file_path="src/a.py"),
    *round_of("t2", "Edit", file_path="src/a.py", old_string="x", new_string="y"),
    *round_of("t3", "Edit", is_error=True, file_path="src/b.py"),
    *round_of("t4", "Bash", command="make test"),
    *round_of("t5", "Bash", is_error=True, command="make\nlint"),
    attachment_message("q", QueuedCommand("And do not touch the docs.")),
    meta_prompt("m", "Go on.", origin="recovery"),
    assistant_fragment("s", "rs", "m", Text("The build is green; lint fails.")),
]


def test_it_holds_what_matters_and_nothing_the_user_did_not_say_as_the_users():
    text = told(WORK)
    assert text.startswith(HEAD)
    for expected in (
        "Fix the build.",
        "And do not touch the docs.",
        "src/a.py",
        "make test (ok)",
        "make lint (failed)",
        "Edit × 1",
        "The build is green; lint fails.",
    ):
        assert expected in text
    assert "Go on." not in text
    assert "src/b.py" not in text
    assert text.index("Fix the build.") < text.index("And do not")


def test_an_earlier_account_is_kept_so_that_what_it_said_is_not_lost():
    first = user_prompt("s0", told(WORK))
    summary = UserMessage("s1", first.content, is_meta=True, origin="summary")
    second = told([summary, user_prompt("p2", "Now the lint.")])
    assert "The build is green; lint fails." in second
    assert "Now the lint." in second
    assert second.count(HEAD) == 1


def test_what_is_carried_is_there_whole_and_once_however_little_room_the_rest_has():
    carried = carried_on(History.empty().extend(WORK), WORK, 100_000)
    text = digest_text(WORK, carried, 200)
    assert carried_text(carried) in text
    assert text.count("Fix the build.") == 1


texts = st.text(max_size=3_000)
messages = st.lists(
    st.one_of(
        texts.map(lambda text: user_prompt("p", text)),
        texts.map(lambda text: assistant_fragment("a", "r", "m", Text(text))),
        texts.map(lambda text: assistant_fragment("a", "r", "m", ToolUse("t", "Bash", {"command": text}))),
        texts.map(lambda text: assistant_fragment("a", "r", "m", ToolUse("t", text, {"file_path": text}))),
        st.just(assistant_fragment("a", "r", "m", ToolUse("t", "Read", {"file_path": ["no", "path"]}))),
        texts.map(lambda text: UserMessage("s", (Text(text),), is_meta=True, origin="summary")),
    ),
    max_size=30,
)


@given(messages, st.integers(200, 20_000))
def test_it_is_never_longer_than_allowed_and_the_same_each_time(said: list[Message], allowed: int):
    carried = carried_on(History.empty().extend(said), said, 20_000)
    text = digest_text(said, carried, allowed)
    assert len(text) <= len(HEAD) + len(carried_text(carried)) + allowed + 20
    assert text == digest_text(said, carried, allowed)
