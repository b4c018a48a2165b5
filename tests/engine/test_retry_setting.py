"""How often a failing call is made again can be said in the environment; what is no number is refused."""

import pytest

from ostinato.engine.retry_setting import with_retries
from ostinato.errors import ConfigurationError
from ostinato.state import DEFAULT_CONFIG


@pytest.mark.parametrize(("said", "expected"), [(None, 9), ("", 9), ("0", 0), ("15", 15)])
def test_the_environment_says_how_often(said: str | None, expected: int):
    environment = {} if said is None else {"OSTINATO_MAX_RETRIES": said}
    assert with_retries(DEFAULT_CONFIG, environment).max_retries == expected


@pytest.mark.parametrize("said", ["16", "-1", "many", "1.5", "٣"])
def test_what_is_no_number_of_retries_is_refused(said: str):
    with pytest.raises(ConfigurationError):
        with_retries(DEFAULT_CONFIG, {"OSTINATO_MAX_RETRIES": said})


@pytest.mark.parametrize(
    ("said", "expected"), [(None, False), ("", False), ("0", False), ("1", True), ("true", True)]
)
def test_the_environment_says_whether_anybody_is_there(said: str | None, expected: bool):
    environment = {} if said is None else {"OSTINATO_UNATTENDED": said}
    assert with_retries(DEFAULT_CONFIG, environment).is_unattended is expected


def test_what_is_neither_yes_nor_no_is_refused():
    with pytest.raises(ConfigurationError):
        with_retries(DEFAULT_CONFIG, {"OSTINATO_UNATTENDED": "perhaps"})
