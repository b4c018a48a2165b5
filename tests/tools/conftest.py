"""The folder that tests of tools work in."""

from pathlib import Path

import pytest
from tests.tools.tool_folder import ToolFolder


@pytest.fixture
def folder(tmp_path: Path) -> ToolFolder:
    return ToolFolder(tmp_path)
