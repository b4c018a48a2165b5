"""`ostinato -p`: flags and standard input in, one query, an exit code out."""

import os
from collections.abc import Mapping
from functools import partial

import anyio

from ostinato.cli.flag_values import checked_values
from ostinato.cli.flags import Flags
from ostinato.cli.headless import run_query, scene_of
from ostinato.cli.options import options_from
from ostinato.cli.output import Output
from ostinato.cli.prompt_input import read_prompt
from ostinato.cli.signals import with_signals
from ostinato.cli.standard_streams import is_terminal, talk
from ostinato.cli.trust_question import accepted_by_flag


def print_answer(flags: Flags) -> int:
    """Raises OstinatoError for what was wrong before anything was sent."""
    options = accepted_by_flag(checked_values(options_from(flags)))
    prompt = read_prompt(flags.prompt, talk, is_watched=is_terminal(2))
    scene = scene_of(flags, is_terminal=is_terminal(1), has_colour=has_colour(os.environ))
    return anyio.run(with_signals, partial(run_query, options, prompt, scene, Output(), talk))


def has_colour(environment: Mapping[str, str]) -> bool:
    """Whether a terminal may get colours (no-color.org)."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
