"""Settings of the machine that cannot be read: their rules are never lost in silence."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostinato.config.load import load_settings
from ostinato.config.places import Places
from ostinato.config.project_things import Things
from ostinato.config.read_file import drop_ins, read_settings_file
from ostinato.config.settings_text import Unreadable
from ostinato.config.trust import Trusted
from ostinato.engine.configuration import Configuration, InEffect, in_effect
from ostinato.engine.found_settings import FoundSettings
from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError

DENIED = Unreadable("cannot be read: Permission denied", "check its permissions")


def effect(folder: Path, *, is_closed: bool = False) -> InEffect:
    """What counts with the machine's settings in `folder`; `is_closed`: nobody may look into it."""
    work = folder.parent / "work"
    work.mkdir(exist_ok=True)
    places = Places(work, None, None, (folder,))
    if is_closed:
        loaded = load_settings(places, read=lambda _path: DENIED, list_drop_ins=lambda _folder: DENIED)
    else:
        loaded = load_settings(places, read=read_settings_file, list_drop_ins=drop_ins)
    found = FoundSettings(loaded, Things({}), Trusted(Things({})))
    options = Options(cwd=work, environment={}, permission_mode="default")
    return in_effect(options, Configuration(places, None, frozenset(), found))


def _text(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def _drop_in(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def made(folder: Path) -> None:
        below = folder / "managed-settings.d"
        below.mkdir()
        make(below / "10-a.json")

    return made


LOSING: dict[str, Callable[[Path], object]] = {
    "the folder is a file": lambda folder: _text(folder, "managed-settings.d", "{}"),
    "the folder is a link to nowhere": lambda folder: (folder / "managed-settings.d").symlink_to("nowhere"),
    "the folder is a link to itself": lambda folder: (folder / "managed-settings.d").symlink_to(
        "managed-settings.d"
    ),
    "the folder is a FIFO": lambda folder: os.mkfifo(folder / "managed-settings.d"),
    "the file is a folder": lambda folder: (folder / "managed-settings.json").mkdir(),
    "the file is a link to nowhere": lambda folder: (folder / "managed-settings.json").symlink_to("nowhere"),
    "the file is broken": lambda folder: _text(folder, "managed-settings.json", '{"permissions": '),
    "the file has its rules twice": lambda folder: _text(
        folder, "managed-settings.json", '{"permissions": {"deny": ["Bash"], "deny": []}}'
    ),
    "a rule is none": lambda folder: _text(
        folder, "managed-settings.json", '{"permissions": {"ask": ["Bash("]}}'
    ),
    "a rule is no text": lambda folder: _text(
        folder, "managed-settings.json", '{"permissions": {"deny": [5]}}'
    ),
    "bypass is taken away in other words": lambda folder: _text(
        folder, "managed-settings.json", '{"permissions": {"disableBypassPermissionsMode": true}}'
    ),
    "a drop-in is empty": _drop_in(lambda path: path.write_text("")),
    "a drop-in is a folder": _drop_in(lambda path: path.mkdir()),
    "a drop-in is a FIFO": _drop_in(os.mkfifo),
    "a drop-in is a link to nowhere": _drop_in(lambda path: path.symlink_to("nowhere")),
    "a drop-in is a link to itself": _drop_in(lambda path: path.symlink_to(path.name)),
    "a drop-in is no object": _drop_in(lambda path: path.write_text("[]")),
    "a drop-in is no text": _drop_in(lambda path: path.write_bytes(b"\xff\xfe\x00")),
}


@pytest.mark.parametrize("make", LOSING.values(), ids=LOSING)
def test_nothing_runs_while_rules_of_the_machine_cannot_be_read(
    tmp_path: Path, make: Callable[[Path], object]
):
    folder = tmp_path / "etc"
    folder.mkdir()
    make(folder)
    with pytest.raises(ConfigurationError, match="managed-settings"):
        effect(folder)


def test_nothing_runs_where_nobody_may_look_into_the_machines_folder(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"managed-settings\.d"):
        effect(tmp_path / "etc", is_closed=True)


HARMLESS: dict[str, Callable[[Path], object]] = {
    "there is nothing": lambda folder: None,
    "the folder is empty": lambda folder: (folder / "managed-settings.d").mkdir(),
    "another value is wrong": lambda folder: _text(folder, "managed-settings.json", '{"maxTurns": "many"}'),
    "a rule that allows is none": lambda folder: _text(
        folder, "managed-settings.json", '{"permissions": {"allow": ["Bash(", 5]}}'
    ),
}


@pytest.mark.parametrize("make", HARMLESS.values(), ids=HARMLESS)
def test_what_loses_no_rule_stops_nothing(tmp_path: Path, make: Callable[[Path], object]):
    folder = tmp_path / "etc"
    folder.mkdir()
    make(folder)
    assert effect(folder).rules == ()


def test_a_machine_whose_folder_is_missing_or_a_file_has_no_rules(tmp_path: Path):
    assert effect(tmp_path / "etc").rules == ()
    (tmp_path / "etc").write_text("")
    assert effect(tmp_path / "etc").rules == ()
