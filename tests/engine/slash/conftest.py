"""A stage for each test of slash commands."""

from pathlib import Path

import pytest
from tests.engine.slash.scene import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
