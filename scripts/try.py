"""The main job, live: a failing test, an agent that reads, edits and runs it, and a check that does not take its word."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

import anyio

from ostinato.cli.live import LiveView
from ostinato.cli.shown import Shown
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.errors import OstinatoError
from ostinato.ports import Model
from ostinato.testing import Reply, ScriptedModel, call, say

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "examples" / "sample_repository"
PROMPT = 'Running "python3 test_basket.py" fails. Fix the bug in basket.py so that it passes.'
TEST = [sys.executable, "test_basket.py"]
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY")
SCRIPTED = "SCRIPTED MODEL: what follows was written beforehand; tools, files and the test are real"


def scripted_model() -> ScriptedModel:
    """A model that says what a careful one would say; its calls really run."""
    return ScriptedModel(
        Reply(
            say("I run the test and read the code."),
            call("Bash", "t1", command="python3 test_basket.py"),
            call("Read", "t2", file_path="basket.py"),
        ),
        Reply(
            say("`discounted` adds the discount instead of taking it off."),
            call(
                "Edit",
                "t3",
                file_path="basket.py",
                old_string="return price + price * percent // 100",
                new_string="return price - price * percent // 100",
            ),
        ),
        Reply(call("Bash", "t4", command="python3 test_basket.py")),
        Reply(say("Fixed: `discounted` in basket.py:11 now subtracts; python3 test_basket.py passes.")),
    )


def tell(text: str) -> None:
    print(text, flush=True)


def local_model() -> str | None:
    """`local`, pulled and verified; None if it cannot be had, and then why is on the screen."""
    tell("No key is set, so the local model does it: a small model, which may be wrong.\n")
    if subprocess.run([ROOT / "scripts" / "setup", "--with-local-model"], check=False).returncode != 0:
        return None
    ended = subprocess.run([Path(sys.executable).with_name("ostinato"), "local", "pull"], check=False)
    return "local" if ended.returncode == 0 else None


def chosen_model(arguments: argparse.Namespace) -> tuple[str | Model | None, str]:
    """The model, and what to say of it on every screen."""
    if arguments.scripted:
        return scripted_model(), SCRIPTED
    if arguments.model:
        return arguments.model, f"model: {arguments.model}"
    if any(os.environ.get(key) for key in KEYS):
        return None, "model: the one that the key in the environment is for"
    name = local_model()
    if name is None:
        tell("\nThe local model cannot be had here, so a scripted one stands in.\n")
        return scripted_model(), SCRIPTED
    return name, "model: local (Qwen2.5-Coder-1.5B), small: it may be wrong"


def write(shown: Shown) -> None:
    sys.stdout.buffer.write(shown.out)
    sys.stdout.buffer.flush()
    if shown.talk:
        print(shown.talk, file=sys.stderr, end="", flush=True)


async def work(folder: Path, model: str | Model | None) -> str:
    """Run the agent in the folder; the reason of its Terminal."""
    options = Options(
        cwd=folder,
        model=model,
        permission_mode="acceptEdits",
        allowed_tools=("Bash(python3:*)", "Bash(python:*)"),
        max_turns=20,
        temperature=0.0 if model == "local" else None,
        keep_session=False,
    )
    view = LiveView(has_colour=sys.stdout.isatty(), monotonic_s=time.monotonic)
    reason = ""
    async with open_engine(options) as engine, aclosing(engine.submit_message(PROMPT)) as events:
        write(view.begin())
        async for event in events:
            write(view.show(event))
            reason = getattr(event, "reason", reason)
    return reason


def test_passes(folder: Path) -> bool:
    """Run the sample's own test, and see that the test itself was left alone."""
    if (folder / "test_basket.py").read_bytes() != (SAMPLE / "test_basket.py").read_bytes():
        tell("the test file was changed, which is no repair")
        return False
    ended = subprocess.run(TEST, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    tell(f"\n$ python3 test_basket.py\n{(ended.stdout + ended.stderr).strip()}")
    return ended.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/try", description=__doc__)
    parser.add_argument("--scripted", action="store_true", help="a scripted model, without network and key")
    parser.add_argument("--model", help="the model to use, for example local, or openai/NAME")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ostinato-try-") as temporary:
        folder = Path(shutil.copytree(SAMPLE, Path(temporary, "shop")))
        model, label = chosen_model(arguments)
        rule = "─" * 72
        tell(f"{rule}\n{label}\nfolder: {folder}\n> {PROMPT}\n{rule}")
        try:
            reason = anyio.run(work, folder, model)
        except OstinatoError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        passed = test_passes(folder)
    tell(f"{rule}\n{label}\nthe query ended as `{reason}`; the test {'passes' if passed else 'FAILS'}")
    return 0 if passed and reason == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
