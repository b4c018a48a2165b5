"""Why steps do not apply is known without applying them, in the same words."""

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostinato.tools.edit_match import NotMatched
from ostinato.tools.edit_steps import EditStep, apply_steps, why_not_apply
from ostinato.tools.line_ends import text_with_ends
from ostinato.tools.text_encoding import UTF_8, TextEncoding

LATIN = TextEncoding("latin-1")
FILES = st.lists(st.sampled_from(["a", "b", "é", "\n", "\r\n"]), max_size=12).map("".join)
TEXTS = st.lists(st.sampled_from(["a", "b", "é", "漢", "\n"]), max_size=3).map("".join)
STEPS = st.lists(st.builds(EditStep, TEXTS.filter(bool), TEXTS, st.booleans()), min_size=1, max_size=3)


def refusal_of(attempt: Callable[[], object]) -> str | None:
    try:
        said = attempt()
    except UnicodeEncodeError as error:
        return f"no {error.object[error.start]}"
    return said.reason if isinstance(said, NotMatched) else None


@settings(max_examples=60)
@given(FILES, STEPS, st.sampled_from([UTF_8, LATIN]), st.booleans())
@example("a\r\nb", [EditStep("a", "x"), EditStep("a", "y")], UTF_8, False)
@example("ab", [EditStep("a", "漢"), EditStep("nowhere", "y")], LATIN, False)
@example("ab", [EditStep("a", "b"), EditStep("bb", "")], UTF_8, False)
def test_why_they_do_not_apply_is_said_as_when_they_are_applied(
    original: str, steps: list[EditStep], encoding: TextEncoding, forgiving: bool
):
    text, data = text_with_ends(original), encoding.encode(original)
    assert refusal_of(lambda: why_not_apply(text, encoding, steps, forgiving=forgiving)) == refusal_of(
        lambda: apply_steps(data, text, encoding, steps, forgiving=forgiving)
    )
