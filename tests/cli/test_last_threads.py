"""The process ends when the command is done, also where a local model's native code is in the middle of something."""

import subprocess
import sys

import pytest
from tests.cli.command import TIMEOUT_S

pytestmark = pytest.mark.process

_SCRIPT = """
import sys, threading
from ostinato.cli.main import run
started, never = threading.Event(), threading.Event()

def work():
    started.set()
    never.wait({wait_s})
    print("its own end")

threading.Thread(target=work, name={name!r}).start()
started.wait()
sys.argv[1:] = {arguments!r}
sys.exit(run())
"""


def ended(name: str, *arguments: str, wait_s: float | None) -> tuple[int, str]:
    script = _SCRIPT.format(name=name, arguments=list(arguments), wait_s=wait_s)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"), [(["--help"], 0, "--resume"), (["--nonsuch"], 2, "hint")]
)
def test_the_runtime_of_a_local_model_is_not_waited_for_and_all_is_said(
    arguments: list[str], code: int, said: str
):
    ended_with, text = ended("ostinato-local", *arguments, wait_s=None)
    assert ended_with == code
    assert said in text


def test_any_other_thread_comes_to_its_own_end():
    assert "its own end" in ended("another", "--help", wait_s=0.01)[1]
