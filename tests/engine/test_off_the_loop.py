"""What takes time at a start or a decision, reading settings, sessions and repositories, never holds up the event loop."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEARD = """
import sys, threading
opened = set()
MAIN = threading.main_thread()

def hear(event, given):
    if event in {"open", "os.listdir", "os.scandir"} and isinstance(given[0], str | bytes):
        opened.add((str(given[0]), threading.current_thread() is MAIN))

from pathlib import Path
import anyio
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import ALL_SETTING_SOURCES, Options
from ostinato.testing import Reply, ScriptedModel, call, say

async def run():
    where, resume, command = sys.argv[1:]
    replies = [Reply(call("Bash", "t1", command=command))] if command else []
    options = Options(
        cwd=Path(where) / "work",
        model=ScriptedModel(*replies, Reply(say("done"))),
        environment={"HOME": where, "PATH": "/usr/bin:/bin"},
        setting_sources=ALL_SETTING_SOURCES,
        resume=resume or None,
    )
    sys.addaudithook(hear)
    async with open_engine(options) as engine:
        if command or not resume:
            async for _ in engine.submit_message("go"):
                pass
        return engine.session_id

session_id = anyio.run(run)
import json
print(json.dumps([session_id, sorted(opened)]))
"""


def run(home: Path, *, resume: str = "", command: str = "") -> tuple[str, dict[str, set[bool]]]:
    """The session, and for each path that was opened whether that was on the event loop."""
    (home / "work").mkdir(exist_ok=True)
    arguments = [sys.executable, "-c", HEARD, str(home), resume, command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    session_id, opened = json.loads(done.stdout)
    where: dict[str, set[bool]] = {}
    for path, is_on_loop in opened:
        where.setdefault(path, set()).add(is_on_loop)
    return session_id, where


def below(where: dict[str, set[bool]], *parts: str) -> set[bool]:
    return {each for path, on in where.items() if all(part in path for part in parts) for each in on}


@pytest.mark.process
def test_settings_and_what_a_project_supplies_are_read_in_a_thread(tmp_path: Path):
    for name in ("work/.claude/settings.json", ".claude/settings.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "work/.claude/hooks").mkdir()
    (tmp_path / "work/.claude/hooks/run.sh").write_text("echo")
    _, where = run(tmp_path)
    assert below(where, "settings.json") == {False}
    assert below(where, "run.sh") == {False}


@pytest.mark.process
def test_a_session_that_goes_on_is_read_in_a_thread(tmp_path: Path):
    session_id, _ = run(tmp_path)
    _, where = run(tmp_path, resume=session_id)
    assert below(where, f"{session_id}.jsonl") == {False}


@pytest.mark.process
def test_the_settings_of_a_repository_are_looked_through_in_a_thread(tmp_path: Path):
    (tmp_path / "work/.git/modules/a").mkdir(parents=True)
    for name in ("config", "modules/a/config"):
        (tmp_path / "work/.git" / name).write_text("[core]\n")
    _, where = run(tmp_path, command="git log")
    assert below(where, ".git", "config") == {False}
    assert below(where, ".git/modules") == {False}
