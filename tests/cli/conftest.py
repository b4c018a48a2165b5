"""A desk of its own for each test of the command."""

from pathlib import Path

import pytest
from tests.cli.command import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
