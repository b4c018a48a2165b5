"""One query of the command: open the conversation, show its events, and end with the right exit code."""

import time
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path

import msgspec

from ostinato.cli.call_record import CallRecord
from ostinato.cli.exit_codes import FAILED, ended_code
from ostinato.cli.flags import Flags
from ostinato.cli.output import Output, OutputClosed
from ostinato.cli.output_format import OutputFormat
from ostinato.cli.shown import Renderer, Shown
from ostinato.cli.signals import Interruption
from ostinato.cli.text_output import TextOutput
from ostinato.engine.clock import RandomIds
from ostinato.engine.model_choice import SMALL_MODEL
from ostinato.engine.options import Options
from ostinato.engine.prompt_text import checked_prompt
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.without_model import start_engine_for
from ostinato.events import Result

Talk = Callable[[str], None]


class Scene(msgspec.Struct, frozen=True):
    """Where a query is shown: the form, and who looks."""

    output_format: OutputFormat = "text"
    include_partial_messages: bool = False
    is_verbose: bool = False
    is_terminal: bool = False
    has_colour: bool = False


def scene_of(flags: Flags, *, is_terminal: bool, has_colour: bool) -> Scene:
    return Scene(
        output_format=flags.output_format,
        include_partial_messages=flags.include_partial_messages,
        is_verbose=flags.is_verbose,
        is_terminal=is_terminal,
        has_colour=has_colour,
    )


async def run_query(
    options: Options, prompt: str, scene: Scene, output: Output, talk: Talk, interruption: Interruption
) -> int:
    """The exit code. Raises OstinatoError for what was wrong before anything was sent; a closed output is no error."""
    async with aclosing(await start_engine_for(checked_prompt(prompt), options)) as engine:
        for notice in notices_to_tell(engine.setting.notices, scene):
            talk(f"note: {notice}\n")
        renderer = renderer_for(scene, engine, options, interruption)
        show = partial(show_query, engine, prompt, renderer, output, talk, interruption)
        try:
            return await output.while_read(show)
        except* OutputClosed:
            code = FAILED
    return code


async def show_query(
    engine: QueryEngine,
    prompt: str,
    renderer: Renderer,
    output: Output,
    talk: Talk,
    interruption: Interruption,
) -> int:
    """Show one query of an open conversation. Raises OutputClosed when nobody reads any more; the query is over then."""
    calls = CallRecord()
    result: Result | None = None
    await _put(renderer.begin(), output, talk)
    interruption.attach(engine.interrupt)
    async with aclosing(engine.submit_message(prompt)) as events:
        async for event in events:
            calls.take(event)
            await _put(renderer.show(event), output, talk)
            if isinstance(event, Result):
                result = event
    if result is None:
        return FAILED
    is_completed = result.terminal_reason == "completed" or is_local_success(result)
    if interruption.cause is not None and not is_completed:
        return interruption.exit_code
    return ended_code(is_completed=is_completed, has_lasting_denials=bool(calls.lasting(result.denials)))


def is_local_success(result: Result) -> bool:
    """Whether the program answered by itself, as it was asked to."""
    return result.terminal_reason is None and not result.is_error


async def _put(shown: Shown, output: Output, talk: Talk) -> None:
    if shown.out:
        await output.write(shown.out)
    if shown.talk:
        talk(shown.talk)


def notices_to_tell(notices: tuple[str, ...], scene: Scene) -> tuple[str, ...]:
    """What concerns the session's keeping is always told; that a model is small only to those who look."""
    if scene.is_verbose or scene.is_terminal:
        return notices
    return tuple(notice for notice in notices if notice != SMALL_MODEL)


def _command_names(cwd: Path) -> tuple[str, ...]:
    from ostinato.cli.slash_commands import known_commands  # ruff: ignore[import-outside-top-level] - only this protocol tells them

    return tuple(entry.name for entry in known_commands(cwd))


def renderer_for(scene: Scene, engine: QueryEngine, options: Options, interruption: Interruption) -> Renderer:
    setting = engine.setting
    resume_hint = f"go on with `ostinato --resume {setting.session_id} -p …`" if options.keep_session else ""
    match scene.output_format:
        case "text" if scene.is_verbose and scene.is_terminal:
            from ostinato.cli.live import LiveView  # ruff: ignore[import-outside-top-level] - each form loads when it is asked for

            return LiveView(has_colour=scene.has_colour, monotonic_s=time.monotonic, resume_hint=resume_hint)
        case "text":
            return TextOutput(
                is_verbose=scene.is_verbose, is_terminal=scene.is_terminal, resume_hint=resume_hint
            )
        case "json":
            from ostinato.cli.json_output import JsonOutput  # ruff: ignore[import-outside-top-level] - as above

            return JsonOutput(is_verbose=scene.is_verbose, resume_hint=resume_hint)
        case "stream-json":
            return _stream_output(scene, engine, interruption)


def _stream_output(scene: Scene, engine: QueryEngine, interruption: Interruption) -> Renderer:
    from ostinato.cli.json_output import StreamJsonOutput  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.protocols.stream_json import StreamedSession, StreamJson  # ruff: ignore[import-outside-top-level] - as above

    setting = engine.setting
    session = StreamedSession(
        session_id=setting.session_id,
        cwd=str(setting.workspace.cwd),
        model=setting.model,
        tool_names=tuple(tool.name for tool in setting.tools),
        permission_mode=setting.permission_mode,
        api_key_source=setting.key_source,
        slash_commands=_command_names(setting.workspace.cwd),
    )
    stream = StreamJson(
        session,
        new_uuid=RandomIds().uuid,
        include_partial_messages=scene.include_partial_messages,
    )
    return StreamJsonOutput(stream, lambda: interruption.cause == "terminated")
