"""`~` has one meaning: the given home, never this process's own and never another user's."""

from pathlib import Path

import pytest

from ostinato.errors import UsageError
from ostinato.home_folder import below_home, expand_home, home_of

HOME = Path("/homes/me")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~", "/homes/me"),
        ("~/", "/homes/me"),
        ("~/a/b", "/homes/me/a/b"),
        ("~//a", "/homes/me/a"),
        ("~///etc/passwd", "/homes/me/etc/passwd"),
        ("./~", "~"),
        ("a/~/b", "a/~/b"),
        ("/a", "/a"),
        ("", "."),
    ],
)
def test_a_tilde_is_the_home_that_was_given(text: str, path: str):
    assert expand_home(text, HOME) == Path(path)


@pytest.mark.parametrize("text", ["~root", "~root/x", "~nobody-here", "~+", "~-/x", "~$letter.docx"])
def test_what_may_be_somebody_elses_home_is_refused_and_never_guessed(text: str):
    assert below_home(text) is None
    with pytest.raises(UsageError):
        expand_home(text, HOME)


@pytest.mark.parametrize("text", ["~", "~/x", "~//x"])
def test_without_a_home_a_tilde_is_refused(text: str):
    with pytest.raises(UsageError):
        expand_home(text, None)


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "."}, {"HOME": "relative/home"}])
def test_only_an_absolute_path_is_a_home(environment: dict[str, str]):
    assert home_of(environment) is None
