"""Slash commands on an engine: the reader that it asks first, and the scene that each command looks at.

A prompt that is neither a command nor a shell line loads nothing of what answers them.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ostinato.attachments.instruction_files import LoadedInstructions
from ostinato.engine.configuration import Configuration
from ostinato.engine.options import shows_nobody, tells_nobody
from ostinato.engine.prompt_reader import PromptReader
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.engine.slash.reply import NotACommand, SlashOutcome
from ostinato.permissions.rules import Rule
from ostinato.permissions.verdict import Policy
from ostinato.ports import Abort, Permissions

if TYPE_CHECKING:
    from ostinato.config.trust import TrustState
    from ostinato.engine.slash.command_places import CommandPlaces
    from ostinato.engine.slash.scene import SettingsInForce, SlashScene


class SlashGround(msgspec.Struct, frozen=True):
    """What commands look at and an engine does not show. The calls give what holds at that moment.

    `runs_shell_lines`: what begins with `!` is the user's own command; `on_shell_output` is told what it prints, `tell` gets sentences
    for the user.
    """

    configuration: Configuration
    policy: Callable[[], Policy]
    with_rules: Callable[[tuple[Rule, ...]], Permissions]
    instructions: Callable[[], LoadedInstructions]
    runs_shell_lines: bool = False
    on_shell_output: Callable[[str, str], None] = shows_nobody
    tell: Callable[[str], None] = tells_nobody


def slash_reader(engine: QueryEngine, ground: SlashGround) -> PromptReader:
    """What the engine asks about each prompt before a model may see it."""

    async def read(prompt: str, abort: Abort, /) -> SlashOutcome:
        match prompt_mode(prompt, runs_shell_lines=ground.runs_shell_lines):
            case "shell":
                from ostinato.engine.slash.own_shell_line import answer_shell_line  # ruff: ignore[import-outside-top-level] - as above

                return await answer_shell_line(
                    prompt[1:], _scene(engine, ground, abort), ground.on_shell_output
                )
            case "command":
                from ostinato.engine.slash.dispatch import dispatch  # ruff: ignore[import-outside-top-level] - see the module's docstring

                return await dispatch(prompt, partial(_scene, engine, ground, abort))
            case _:
                return NotACommand()

    return read


def _scene(engine: QueryEngine, ground: SlashGround, abort: Abort) -> "SlashScene":
    from ostinato.engine.clock import RandomIds  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.engine.slash.scene import SlashScene  # ruff: ignore[import-outside-top-level] - as above

    setting = engine.setting
    return SlashScene(
        session_id=engine.session_id,
        model=engine.model,
        permission_mode=setting.permission_mode,
        tools=setting.tools,
        workspace=setting.workspace,
        files=setting.files,
        history=engine.history,
        costs=engine.costs,
        instructions=ground.instructions(),
        policy=ground.policy(),
        places=command_places(ground.configuration),
        abort=abort,
        uuid=RandomIds().uuid,
        with_rules=ground.with_rules,
        set_model=engine.set_model,
        record=engine.record,
        whole_history=engine.whole_history,
        context=partial(engine.context, abort),
        model_problem=engine.model_problem,
        tell=ground.tell,
        settings=_settings(ground.configuration),
        trust=_trust(ground.configuration),
    )


def command_places(configuration: Configuration) -> "CommandPlaces":
    """Where commands lie, for a list of them too."""
    from ostinato.engine.slash.command_places import CommandPlaces  # ruff: ignore[import-outside-top-level] - as above

    places = configuration.places
    return CommandPlaces(places.project_root, places.data_root, configuration.home)


def _settings(configuration: Configuration) -> "SettingsInForce | None":
    from ostinato.engine.slash.scene import SettingsInForce  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.engine.unread_rules import without_unread_rules  # ruff: ignore[import-outside-top-level] - as above

    found = configuration.found
    if found is None:
        return None
    paths = [document.source.path for document in found.loaded.documents]
    there = tuple(path for path in paths if path is not None)
    effective, unread = without_unread_rules(found.effective())
    return SettingsInForce(effective, (*found.loaded.problems, *unread), there)


def _trust(configuration: Configuration) -> "TrustState | None":
    from ostinato.config.trust import Trusted  # ruff: ignore[import-outside-top-level] - as above

    found = configuration.found
    if found is None:
        return None
    return Trusted(found.things) if found.is_trusted else found.state
