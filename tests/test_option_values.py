"""The words that options, flags and settings share are written once, and naming them loads nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

import ostinato
from ostinato.option_values import EFFORTS, PERMISSION_MODES

SOURCES = Path(str(ostinato.__file__)).parent


@pytest.mark.parametrize("words", [PERMISSION_MODES, EFFORTS], ids=["modes", "efforts"])
def test_no_other_file_lists_the_words_again(words: tuple[str, ...]):
    listing = [
        path.name
        for path in SOURCES.rglob("*.py")
        if ", ".join(f'"{word}"' for word in words) in " ".join(path.read_text().split())
    ]
    assert listing == ["option_values.py"]


@pytest.mark.process
def test_naming_them_loads_nothing_of_the_engine():
    script = (
        "import sys, ostinato.option_values; print(*(n for n in sys.modules if n.startswith('ostinato.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ostinato.option_values"]
