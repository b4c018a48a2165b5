"""An async tool with the call's context: progress, the working folder, a time limit, an image as its result. Run:
`python examples/tool_context.py`.
"""

from base64 import b64encode
from pathlib import Path

import anyio

import ostinato
from ostinato.messages import Image, Text
from ostinato.ports import Model
from ostinato.tool import Access

PIXEL = b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c636060f8cf00000301010018dd8db0"
        "0000000049454e44ae426082"
    )
).decode()


@ostinato.tool(
    read_only=True,
    timeout_s=30,
    interrupt="cancel",
    access=lambda given, workspace: Access(reads=(workspace.resolve(given["folder"]),)),
)
async def chart(folder: str, context: ostinato.ToolContext) -> list[Text | Image]:
    """Draw how large the files of a folder are."""
    path = context.workspace.resolve(folder)
    names = await anyio.to_thread.run_sync(lambda: sorted(one.name for one in Path(path).iterdir()))
    for number, name in enumerate(names, 1):
        context.progress(f"{number} of {len(names)}: {name}")  # live display only: never waits
    return [Text(f"{len(names)} files"), Image("image/png", PIXEL)]


async def main(model: str | Model | None = None) -> str:
    said = ""
    async for event in ostinato.query(
        "Show me the sizes.",
        model=model,
        extra_tools=[chart],
        allowed_tools=["chart"],
        keep_session=False,
    ):
        if isinstance(event, ostinato.Terminal):
            said = event.reason
    return said


if __name__ == "__main__":
    print(anyio.run(main))
