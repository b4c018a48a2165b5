"""A process that changes one file to and fro until it is killed: `python -m tests.tools.changing_child FOLDER TOOL`."""

import sys
from pathlib import Path

import anyio
from tests.tools.file_changers import CHANGERS
from tests.tools.tool_folder import ToolFolder


async def main(folder: ToolFolder, tool: str) -> None:
    (changer,) = [changer for changer in CHANGERS if changer.tool == tool]
    text = folder.bytes_of(changer.file).decode()
    folder.saw(folder.path / changer.file)
    while True:
        # Forth by the tool under test, back by a plain Write: both are killed at any moment.
        await folder.text(changer.tool, **changer.call())
        print("changed", flush=True)
        await folder.text("Write", file_path=changer.file, content=text)
        print("changed", flush=True)


if __name__ == "__main__":
    anyio.run(main, ToolFolder(Path(sys.argv[1])), sys.argv[2])
