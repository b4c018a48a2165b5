"""What the command was started with is not shown to what it starts."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, subprocess
from ostinato.cli.own_environment import hide_own_secrets
hide_own_secrets()
shown = subprocess.run(["sh", "-c", "cat /proc/$PPID/environ"], stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}).stdout
print(shown.replace(bytes(1), b"\\n").decode())
print("known here:", os.environ["ANTHROPIC_API_KEY"], os.environ["PROXY"])
"""
VARIABLES = {
    "ANTHROPIC_API_KEY": "very-secret-one",
    "PROXY": "http://me:very-secret-two@proxy.example",
    "NPM_TOKEN": "",
    "PLAIN": "shown",
    "ODD": "a=b=c",
}


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="only where the kernel shows environments")
def test_a_child_cannot_read_the_secrets_of_the_command_and_the_command_still_can():
    ran = subprocess.run(
        (sys.executable, "-c", PROGRAM),
        env={**os.environ, **VARIABLES},
        capture_output=True,
        text=True,
        check=True,
    )
    shown, _, known = ran.stdout.partition("known here:")
    assert "very-secret" not in shown
    assert {"PLAIN=shown", "ODD=a=b=c", "NPM_TOKEN="} <= set(shown.splitlines())
    assert "ANTHROPIC_API_KEY=" in shown
    assert known.split() == ["very-secret-one", VARIABLES["PROXY"]]


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="only where the kernel shows environments")
def test_the_command_hides_them_before_anything_is_started(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("home")
    program = (
        "import sys, ostinato.cli.command as c, ostinato.cli.print_mode as p\n"
        "p.print_answer = lambda flags: print(open('/proc/self/environ').read()) or 0\n"
        "c.run_command(['-p', 'x'])\n"
    )
    environment = {**os.environ, **VARIABLES, "HOME": str(folder)}
    ran = subprocess.run(
        (sys.executable, "-c", program), env=environment, capture_output=True, text=True, check=True
    )
    assert "PLAIN=shown" in ran.stdout
    assert "very-secret" not in ran.stdout
