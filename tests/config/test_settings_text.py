import pytest
from tests.config.scene import FILES, in_memory

from ostinato.config.load import effective
from ostinato.config.settings_text import MAX_BYTES, Read, Unreadable, read_settings_text

BROKEN: dict[str, tuple[bytes, tuple[int, int] | None]] = {
    "empty": (b"", None),
    "blank": (b" \n", None),
    "cut": (b'{\n  "model": "a"', (2, 15)),
    "a comment": (b'{\n  // no\n  "model": "a"}', (2, 3)),
    "a comma too many": (b'{"model": "a",}', None),
    "a comma too many in a list": (b'{"a": [1,\n]}', None),
    "single quotes": (b"{'model': 1}", (1, 2)),
    "no object": (b"[]", None),
    "a text": (b'"x"', None),
    "rubbish": (b"\x00\x01", (1, 1)),
    "not UTF-8": (b'{\n"model": "\xe9"}', (2, 11)),
    "UTF-16": ('{"model": "a"}'.encode("utf-16"), None),
    "not a number": (b'{"maxTurns": NaN}', None),
    "a number without end": (b'{"maxTurns": 1e999}', None),
    "too many digits": (b'{"maxTurns": ' + b"9" * 5000 + b"}", None),
    "too deep": (b'{"a":' * 5000 + b"1" + b"}" * 5000, None),
    "deep enough to hurt": (b'{"a":' * 100 + b"1" + b"}" * 100, None),
    "half a character": (rb'{"model": "\ud800"}', None),
    "too large": (b'{"a": "' + b"x" * MAX_BYTES + b'"}', None),
    "two objects": (b"{}{}", (1, 3)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_skipped_as_a_whole_named_and_the_rest_goes_on(name: str):
    content, place = BROKEN[name]
    loaded = in_memory({"project": content, "user": {"model": "mine"}})
    (problem,) = loaded.problems
    assert (problem.source.name, problem.key) == (FILES["project"], "")
    assert problem.what
    if place is not None:
        assert (problem.line, problem.column) == place
    model = effective(loaded, is_trusted=True).settings.model
    assert model is not None
    assert model.value == "mine"


@pytest.mark.parametrize(
    "name", ["a comment", "a comma too many", "a comma too many in a list", "single quotes"]
)
def test_common_slips_get_a_hint(name: str):
    answer = read_settings_text(BROKEN[name][0])
    assert isinstance(answer, Unreadable)
    assert answer.hint != "check commas, quotes and brackets there"


def test_what_is_said_of_a_broken_file_holds_nothing_of_its_content():
    answer = read_settings_text(b"{password hunter2}")
    assert isinstance(answer, Unreadable)
    assert "hunter" not in answer.what + answer.hint
    assert "password" not in answer.what + answer.hint


def test_a_mark_of_utf8_at_the_start_is_skipped():
    assert read_settings_text(b'\xef\xbb\xbf{"model": "a"}') == Read({"model": "a"})


def test_surrogate_pairs_are_whole_characters():
    assert read_settings_text(rb'{"model": "\ud83d\ude00"}') == Read({"model": "😀"})


def test_a_name_that_stands_twice_is_told():
    loaded = in_memory({"user": b'{"permissions": {"deny": ["A"]}, "permissions": {"deny": ["B"]}}'})
    assert [problem.key for problem in loaded.problems] == ["permissions"]
    assert [rule.value for rule in effective(loaded, is_trusted=True).settings.permissions.deny] == ["B"]


@pytest.mark.timeout(5)
def test_many_names_with_a_double_are_read_in_no_time():
    names = ",".join(f'"k{index}": 1' for index in range(60_000))
    answer = read_settings_text(f'{{{names}, "k0": 2}}'.encode())
    assert isinstance(answer, Read)
    assert answer.repeated == ("k0",)
