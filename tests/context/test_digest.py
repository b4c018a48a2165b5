"""An account made without a model: the user's own words, files, commands; bounded, and the same each time."""

from hypothesis import given
from hypothesis import strategies as st

from ostinato.context.digest import HEAD, digest_text
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
    text = digest_text(WORK, 10_000)
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


def test_an_earlier_account_is_kept_so_that_the_first_wish_is_not_lost():
    first = digest_text(WORK, 10_000)
    summary = UserMessage("s1", (Text(first),), is_meta=True, origin="summary")
    second = digest_text([summary, user_prompt("p2", "Now the lint.")], 10_000)
    assert "Fix the build." in second
    assert "Now the lint." in second
    assert second.count(HEAD) == 1


def test_the_newest_words_of_the_user_come_whole_before_older_ones_come_at_all_and_the_first_are_there():
    talk = [user_prompt(f"p{n}", f"wish {n} " + "x" * 300) for n in range(100)]
    text = digest_text(talk, 4_000)
    assert "wish 99 " + "x" * 300 in text
    assert "wish 0 " in text
    assert "wish 1 " not in text
    assert "left out" in text


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
    text = digest_text(said, allowed)
    assert len(text) <= allowed
    assert text == digest_text(said, allowed)
