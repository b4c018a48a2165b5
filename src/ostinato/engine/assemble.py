"""The composition root: the only file that knows every adapter. It opens a conversation from options, or says why not."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ostinato.engine.clock import RandomIds, SystemClock
from ostinato.engine.gate import Gate, is_read_only_shell
from ostinato.engine.model_choice import ChosenModel, choose_model
from ostinato.engine.option_checks import check_options
from ostinato.engine.options import Options
from ostinato.engine.prompt import system_blocks
from ostinato.engine.prompt_queue import PromptQueue, pending_prompts
from ostinato.engine.query_engine import QueryEngine, Setting
from ostinato.engine.seen_files import SeenFiles
from ostinato.engine.session import Session, open_session, opened_history, spill_folder
from ostinato.engine.surroundings import Sources, surroundings_of
from ostinato.errors import UsageError
from ostinato.invariants import tool_problems
from ostinato.journal.places import data_root
from ostinato.loop.deps import Deps
from ostinato.permissions.rules import Rule, parse_rule
from ostinato.permissions.verdict import Policy
from ostinato.ports import ModelFacts, Workspace
from ostinato.records import SessionStarted
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.state import ModelSettings
from ostinato.tool import Tool
from ostinato.tools.builtin import builtin_tools
from ostinato.version import VERSION


@asynccontextmanager
async def open_engine(options: Options) -> AsyncGenerator[QueryEngine, None]:
    """A conversation for the length of the block. Raises what `start_engine` raises."""
    engine = await start_engine(options)
    try:
        yield engine
    finally:
        await engine.aclose()


async def start_engine(options: Options) -> QueryEngine:
    """Set everything up; `aclose()` gives it back. Nothing is sent to a model yet.

    Raises UsageError (options, tools, folder, session), ConfigurationError (rules, key, model, address), LocalModelError,
    JournalError.
    """
    ground = _ground(options)
    try:
        return await _assembled(options, ground)
    except BaseException:
        ground.session.journal.close()
        raise


class _Ground(msgspec.Struct, frozen=True):
    """What was checked and opened before anything is built on it."""

    environment: dict[str, str]
    cwd: Path
    roots: tuple[Path, ...]
    data_root: Path | None
    rules: tuple[Rule, ...]
    chosen: ChosenModel
    tools: tuple[Tool, ...]
    session: Session

    @property
    def home(self) -> Path | None:
        return Path(self.environment["HOME"]) if self.environment.get("HOME") else None


def _ground(options: Options) -> _Ground:
    check_options(options)
    environment = dict(os.environ if options.environment is None else options.environment)
    cwd, roots = _folders(options)
    rules = _rules(options)
    root = data_root(environment)
    chosen = choose_model(options, environment, models_folder=(root or Path.home()) / "models")
    tools = _tools(options, rules, chosen.facts)
    session = open_session(options, root, cwd)
    return _Ground(environment, cwd, roots, root, rules, chosen, tools, session)


async def _assembled(options: Options, ground: _Ground) -> QueryEngine:
    session, facts = ground.session, ground.chosen.facts
    spill = spill_folder(ground.data_root, ground.cwd, session)
    workspace = LocalWorkspace(ground.cwd, ground.roots, child_environment(ground.environment), spill)
    clock, ids, files = SystemClock(), RandomIds(), SeenFiles()
    gate = Gate(
        Policy(options.permission_mode or "default", ground.rules),
        options.can_use_tool,
        home=ground.home or Path("/nonexistent"),
        builtin_names=frozenset(tool.name for tool in builtin_tools(is_read_only_command=is_read_only_shell)),
    )
    sources = Sources(
        workspace,
        files,
        clock,
        ids,
        may_read=lambda path: gate.may_read(path, workspace),
        home=ground.home,
        data_root=ground.data_root,
    )
    around = await surroundings_of(sources, facts, with_instructions=options.instructions)
    queue = PromptQueue(session.journal.write, ids.uuid, pending_prompts(session.records))
    deps = Deps(
        ground.chosen.model.stream,
        gate,
        session.journal,
        clock,
        ids,
        collect_attachments=around.collect,
        prefetch=around.prefetch,
        queue=queue,
        mentions=around.mentions,
    )
    setting = _setting(options, ground, workspace, files, around.user_context)
    started = SessionStarted(session.session_id, str(ground.cwd), facts.id, VERSION)
    return QueryEngine(
        setting,
        deps,
        opened_history(session, started),
        mentions=around.mentions,
        queue=queue,
        close_session=session.journal.close,
        close_model=ground.chosen.aclose,
    )


def _setting(
    options: Options, ground: _Ground, workspace: Workspace, files: SeenFiles, context: str
) -> Setting:
    facts = ground.chosen.facts
    system = system_blocks(options.system_prompt, options.append_system_prompt, is_short=facts.short_prompt)
    return Setting(
        session_id=ground.session.session_id,
        model=facts,
        tools=ground.tools,
        workspace=workspace,
        files=files,
        settings=ModelSettings(system, context, options.temperature),
        config=options.config,
        permission_mode=options.permission_mode or "default",
        max_turns=options.max_turns,
        max_output_tokens=options.max_output_tokens,
        notices=(*ground.session.notices, *ground.chosen.notices),
    )


# ------------------------------------------------------------------------------------------------ folders, rules, tools


def _folders(options: Options) -> tuple[Path, tuple[Path, ...]]:
    folders: list[Path] = []
    for folder in (options.cwd, *options.add_dirs):
        real = Path(os.path.realpath(folder.expanduser()))
        if not real.is_dir():
            raise UsageError(f"`{folder}` is not a folder", hint="name a folder that exists")
        if not os.access(real, os.R_OK | os.X_OK):
            raise UsageError(f"the folder `{folder}` cannot be read", hint="check its permissions")
        folders.append(real)
    return folders[0], tuple(dict.fromkeys(folders))


def _rules(options: Options) -> tuple[Rule, ...]:
    allowed = [parse_rule(text, "allow", "allowed tools") for text in options.allowed_tools]
    denied = [parse_rule(text, "deny", "disallowed tools") for text in options.disallowed_tools]
    return (*allowed, *denied)


def _tools(options: Options, rules: tuple[Rule, ...], facts: ModelFacts) -> tuple[Tool, ...]:
    """What the model is offered: a tool that is denied whole is not shown, a small model sees only its subset."""
    offered = options.tools
    if offered is None:
        offered = builtin_tools(is_read_only_command=is_read_only_shell)
        if facts.tool_names:
            offered = [tool for tool in offered if tool.name in facts.tool_names]
    tools = (*offered, *options.extra_tools)
    wrong = tool_problems(tools)
    if wrong:
        raise UsageError(wrong[0], hint="give each tool a legal name of its own and a schema of an object")
    hidden = {rule.tool for rule in rules if rule.behaviour == "deny" and rule.spec is None}
    return tuple(tool for tool in tools if tool.name not in hidden)
