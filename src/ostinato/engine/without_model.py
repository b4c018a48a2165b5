"""Commands that the program answers itself need no model: where none can be reached, they are answered all the same."""

from anyio import to_thread
from msgspec.structs import replace

from ostinato.engine.assemble import start_engine
from ostinato.engine.configuration import find_configuration, given_configuration
from ostinato.engine.model_choice import is_local_model
from ostinato.engine.no_model import NoModel
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.builtin import builtin_named
from ostinato.engine.slash.command_line import read_command_line
from ostinato.errors import ConfigurationError, LocalModelError


async def start_engine_for(prompt: str, options: Options) -> QueryEngine:
    """An engine that is going to be asked `prompt` and nothing else. Raises what `start_engine` raises, but a model that cannot be
    reached only where the prompt is for one, or the name that was given is no model's.
    """
    try:
        return await start_engine(options)
    except (ConfigurationError, LocalModelError) as error:
        name = options.model if isinstance(options.model, str) else None
        if (name is not None and _is_no_name(name)) or not await _needs_no_model(prompt, options):
            raise
        return await start_engine(replace(options, model=NoModel(error, name)))


def _is_no_name(name: str) -> bool:
    from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - only a model that cannot be used needs it

    try:
        return not is_local_model(name) and not full_name(name)
    except ConfigurationError:
        return True


async def _needs_no_model(prompt: str, options: Options) -> bool:
    """Built-in commands are answered by the program, and so is a command that there is not."""
    line = read_command_line(prompt)
    if line is None or builtin_named(line.name) is not None:
        return line is not None
    from ostinato.engine.slash.find_commands import find_commands  # ruff: ignore[import-outside-top-level] - only for what looks like a command of a file
    from ostinato.engine.slash_scene import command_places  # ruff: ignore[import-outside-top-level] - as above

    configuration = given_configuration(options) or await find_configuration(options)
    found = await to_thread.run_sync(find_commands, command_places(configuration))
    return found.named(line.name) is None
