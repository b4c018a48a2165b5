"""Where a benchmark's conversations live: folders of their own, and options that reach the scripted wire or a scripted model."""

import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostinato.engine.options import Options
from ostinato.ports import Model
from ostinato.tool import Tool, ToolContext, ToolOutcome, build_tool

MODEL = "anthropic/claude-sonnet-4-5"


@dataclass(frozen=True, slots=True)
class Scene:
    folder: Path

    def options(
        self,
        *,
        url: str = "",
        model: Model | None = None,
        tools: Sequence[Tool] | None = None,
        keep_session: bool = True,
        pid_namespace: bool = True,
    ) -> Options:
        """Nothing is asked. The built-in tools, unless others are given."""
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "OSTINATO_HOME": str(self.folder / "data"),
            "ANTHROPIC_BASE_URL": url,
        }
        return Options(
            cwd=self.folder,
            model=model or MODEL,
            tools=tools,
            permission_mode="bypassPermissions",
            keep_session=keep_session,
            pid_namespace=pid_namespace,
            environment=environment,
        )


@contextmanager
def scene() -> Generator[Scene]:
    with tempfile.TemporaryDirectory(prefix="ostinato-benchmark-") as name:
        yield Scene(Path(name).resolve())


def echo_tool() -> Tool:
    """A tool that costs nothing, so that what is measured is the loop."""

    async def echo(given: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        return ToolOutcome(given["text"])

    return build_tool(
        name="Echo",
        description="Say it again.",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        call=echo,
        is_read_only=True,
    )


def shell_tool() -> Tool:
    """A shell that claims to touch nothing, so that its calls may overlap whatever they run."""

    async def run(given: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        done = await context.workspace.run(("bash", "-c", given["command"]), timeout_s=60)
        return ToolOutcome(done.output)

    return build_tool(
        name="Bash",
        description="Run a shell command.",
        input_schema={
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
        call=run,
        is_read_only=True,
    )
