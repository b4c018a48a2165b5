import json
from pathlib import Path

import pytest
from tests.config.scene import FILES, Scene, in_memory

from ostinato.config.line_of import lines_of
from ostinato.config.load import effective
from ostinato.config.show import HIDDEN, NO_SETTINGS, lines_in, show_json, show_text, use_of


def test_each_value_is_shown_with_its_level_and_file():
    found = effective(
        in_memory({"local": {"model": "a"}, "user": {"permissions": {"deny": ["Read"]}}}), is_trusted=True
    )
    assert show_text(found, with_origin=True) == (
        f'model = "a"  # local: {FILES["local"]}\npermissions.deny[0] = "Read"  # user: {FILES["user"]}\n'
    )
    assert show_text(found, with_origin=False) == 'model = "a"\npermissions.deny[0] = "Read"\n'


@pytest.mark.parametrize("with_origin", [False, True])
def test_where_nothing_is_in_effect_a_line_says_so(*, with_origin: bool):
    found = effective(in_memory({}), is_trusted=True)
    assert show_text(found, with_origin=with_origin) == NO_SETTINGS
    assert json.loads(show_json(found)) == {"settings": [], "withheld": [], "problems": []}


def test_what_waits_for_trust_is_shown_apart():
    loaded = in_memory({"project": {"model": "a"}, "user": "{"})
    found = effective(loaded, is_trusted=False)
    assert show_text(found, with_origin=False).splitlines()[1:] == ['# model = "a"']
    answer = json.loads(show_json(found, loaded.problems))
    assert answer["settings"] == []
    assert answer["withheld"] == [
        {
            "key": "model",
            "value": "a",
            "level": "project",
            "file": FILES["project"],
            "line": None,
            "written_as": "model",
            "use": "yes",
            "overrides": [],
        }
    ]
    assert [(problem["file"], problem["line"]) for problem in answer["problems"]] == [(FILES["user"], 1)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "x"),
        ("my_token", "x"),
        ("DB_PASSWORD", "x"),
        ("PLAIN", "sk-ant-abcdefghijkl"),
        ("URL", "https://me:secret@host/"),
        ("HEADERS", "Authorization: Bearer abcdefgh1234"),
        ("LONG", "a1" * 20),
        ("QUERY", "https://host/?token=abc"),
        ("AWS_ACCESS_KEY_ID", "AKIAABCDEFGHIJKLMNOP"),
    ],
)
def test_secrets_in_variables_hooks_and_unknown_keys_are_hidden(name: str, value: str):
    handler = {"type": "http", "headers": {name: value}}
    loaded = in_memory({
        "user": {"env": {name: value}, "theirs": {name: [value]}, "hooks": {"Stop": [{"hooks": [handler]}]}}
    })
    found = effective(loaded, is_trusted=True)
    for text in (show_text(found, with_origin=True), show_json(found)):
        assert f'"{value}"' not in text
        assert text.count(HIDDEN) == 3


def test_what_is_no_secret_is_shown():
    loaded = in_memory({
        "user": {"env": {"ANTHROPIC_BASE_URL": "https://host:8080/v1"}, "apiKeyHelper": "pass show key"}
    })
    assert HIDDEN not in show_text(effective(loaded, is_trusted=True), with_origin=False)


def test_a_project_cannot_write_to_the_terminal():
    loaded = in_memory({"project": {"the\x1b[2Jirs": "\x1b]0;x\x07\u202e", "a\nb": 1}})
    for is_trusted in (True, False):
        text = show_text(effective(loaded, is_trusted=is_trusted), with_origin=True)
        assert text.isascii()
        assert all(character.isprintable() or character == "\n" for character in text)
        assert len(text.splitlines()) == (2 if is_trusted else 3)


def test_what_a_value_beat_is_shown_with_it_and_lists_beat_nothing():
    loaded = in_memory({
        "local": {"model": "a", "permissions": {"deny": ["Read"]}},
        "user": {"model": "b", "permissions": {"deny": ["Bash"]}},
    })
    entries = json.loads(show_json(effective(loaded, is_trusted=True)))["settings"]
    beaten = {entry["key"]: [each["value"] for each in entry["overrides"]] for entry in entries}
    assert beaten == {"model": ["b"], "permissions.deny[0]": [], "permissions.deny[1]": []}


def test_a_value_that_waits_for_trust_beats_nothing_and_is_beaten_by_nothing():
    loaded = in_memory({"local": {"model": "a"}, "user": {"model": "b"}})
    entries = json.loads(show_json(effective(loaded, is_trusted=False)))["settings"]
    assert [(entry["value"], entry["overrides"]) for entry in entries] == [("b", [])]


@pytest.mark.parametrize(
    ("key", "use"),
    [
        ("model", "yes"),
        ("permissions.deny[0]", "yes"),
        ("models.openai/gpt-5.5.prices.input", "yes"),
        ("env.FOO", "yes"),
        ("outputStyle", "not yet"),
        ("includeCoAuthoredBy", "unknown"),
        ("permissions.theirs", "unknown"),
    ],
)
def test_a_key_that_has_no_effect_says_so(key: str, use: str):
    assert use_of(key) == use


def test_each_value_and_each_fault_knows_its_line(tmp_path: Path):
    scene = Scene(tmp_path)
    path = scene.write(
        ".claude/settings.json", '{\n "model": "a",\n "permissions": {"deny": [\n "Read",\n 3]}}\n'
    )
    loaded = scene.load()
    found = effective(loaded, is_trusted=True)
    answer = json.loads(show_json(found, loaded.problems, lines_in(found.documents)))
    places = {entry["key"]: (entry["file"], entry["line"]) for entry in answer["settings"]}
    assert places == {"model": (str(path), 2), "permissions.deny[0]": (str(path), 4)}
    assert [(problem["key"], problem["line"]) for problem in answer["problems"]] == [
        ("permissions.deny[1]", 5)
    ]


LINES: list[tuple[str, dict[str, int]]] = [
    (
        '{"a": {"b": [1,\n{"c": "}\\"\\n"},\n2]}}',
        {"a": 1, "a.b": 1, "a.b[0]": 1, "a.b[1]": 2, "a.b[1].c": 2, "a.b[2]": 3},
    ),
    ('{"a"\n:\n1}', {"a": 1}),
    ('\ufeff{"a": [],\n"b": {}}', {"a": 1, "b": 2}),
    ('{"a": 1,\n"a": 2}', {"a": 2}),
    ("{", {}),
]


@pytest.mark.parametrize(("text", "lines"), LINES)
def test_lines_are_those_of_the_names(text: str, lines: dict[str, int]):
    found = lines_of(text.encode())
    found.pop("", None)
    assert found == lines
