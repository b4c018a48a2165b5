"""Before a conversation starts: may what this folder supplies act? Asked once for each content, and never answered by itself.

Only a whole typed line that says yes is a yes; with a no the conversation works without those things.
"""

import contextlib
import logging
import os
import termios
from typing import Final

from msgspec.structs import replace

from ostinato.cli.standard_streams import talk
from ostinato.engine.configuration import Configuration, read_configuration
from ostinato.engine.options import Options
from ostinato.visible_text import visible

_CHUNK_BYTES: Final = 4_096


def accepted_by_flag(options: Options) -> Options:
    """`--trust`: a yes to what lies there now, kept for the next time. Raises ConfigurationError for what cannot be read."""
    if not options.trust and not _is_logged():
        return options
    configuration = _configuration(options)
    if options.trust:
        record(configuration)
    return replace(options, configuration=configuration)


def asked_for_trust(options: Options) -> Options:
    """Ask the person at the terminal, if there is anything to ask; the options with the answer in them."""
    configuration = _configuration(options)
    if options.trust:
        record(configuration)
    elif configuration.waiting():
        configuration = _asked(configuration)
    return replace(options, configuration=configuration)


def _configuration(options: Options) -> Configuration:
    configuration = read_configuration(options)
    if _is_logged():
        from ostinato.cli.debug_log import mask_settings  # ruff: ignore[import-outside-top-level] - loads only for those who look

        mask_settings(configuration)
    return configuration


def _is_logged() -> bool:
    return logging.getLogger("ostinato").isEnabledFor(logging.DEBUG)


def record(configuration: Configuration) -> bool:
    """Keep the yes to what was read; tell the user if that cannot be. Whether it is kept."""
    if configuration.found is None or not configuration.found.things.digests:
        return True
    from ostinato.config.trust import Kept, record_trust  # ruff: ignore[import-outside-top-level] - most folders supply nothing

    places = configuration.places
    kept = record_trust(places.data_root, places.project_root, configuration.found.things)
    if isinstance(kept, Kept):
        return True
    talk(f"note: the trust is not kept: {visible(kept.reason)}; {visible(kept.hint)}\n")
    return False


def _asked(configuration: Configuration) -> Configuration:
    from ostinato.cli.trust_text import MAX_ITEMS, changes_text, waiting_text  # ruff: ignore[import-outside-top-level] - as above

    found, root = configuration.found, configuration.places.project_root
    if found is None:
        return configuration
    drop_what_was_typed()
    talk(
        f"This folder brings along things that act, and nobody said yes to them as they are now:\n"
        f"  {visible(str(root))}\n{changes_text(found.state)}"
        f"{waiting_text(configuration.waiting(), found.things, root, max_items=MAX_ITEMS)}"
        "y  yes, trust exactly this; when it changes, you are asked again\n"
        "n  no, work without these things\n"
    )
    while True:
        talk("trust it? ")
        match typed_line().strip().lower():
            case "y" | "yes":
                accepted = configuration.accepted()
                record(accepted)
                return accepted
            case "n" | "no" | "":
                return configuration
            case _:
                talk("type y or n, and Enter\n")


def drop_what_was_typed(descriptor: int = 0) -> None:
    """What was typed before a question was put is no answer to it."""
    with contextlib.suppress(termios.error):
        termios.tcflush(descriptor, termios.TCIFLUSH)


def typed_line(descriptor: int = 0) -> str:
    """The next typed line; empty when the terminal is gone or its end was typed."""
    try:
        return os.read(descriptor, _CHUNK_BYTES).decode("utf-8", "replace")
    except OSError:  # the terminal is gone
        return ""
