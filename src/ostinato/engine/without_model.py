"""Commands that the program answers itself need no model: where none can be reached, they are answered all the same."""

from msgspec.structs import replace

from ostinato.engine.assemble import start_engine
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
        if not _needs_no_model(prompt) or (name is not None and _is_no_name(name)):
            raise
        return await start_engine(replace(options, model=NoModel(error, name)))


def _is_no_name(name: str) -> bool:
    from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - only a model that cannot be used needs it

    try:
        return not is_local_model(name) and not full_name(name)
    except ConfigurationError:
        return True


def _needs_no_model(prompt: str) -> bool:
    line = read_command_line(prompt)
    return line is not None and builtin_named(line.name) is not None
