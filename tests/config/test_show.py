import json

import pytest
from tests.config.scene import FILES, in_memory

from ostinato.config.load import effective
from ostinato.config.show import HIDDEN, show_json, show_text


def test_each_value_is_shown_with_its_level_and_file():
    found = effective(
        in_memory({"local": {"model": "a"}, "user": {"permissions": {"deny": ["Read"]}}}), is_trusted=True
    )
    assert show_text(found, with_origin=True) == (
        f'model = "a"  # local: {FILES["local"]}\npermissions.deny[0] = "Read"  # user: {FILES["user"]}\n'
    )
    assert show_text(found, with_origin=False) == 'model = "a"\npermissions.deny[0] = "Read"\n'


def test_what_waits_for_trust_is_shown_apart():
    loaded = in_memory({"project": {"model": "a"}, "user": "{"})
    found = effective(loaded, is_trusted=False)
    assert show_text(found, with_origin=False).splitlines()[1:] == ['# model = "a"']
    answer = json.loads(show_json(found, loaded.problems))
    assert answer["settings"] == []
    assert answer["withheld"] == [
        {"key": "model", "value": "a", "level": "project", "file": FILES["project"], "written_as": "model"}
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
