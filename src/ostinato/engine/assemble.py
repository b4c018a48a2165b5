"""The composition root: the only file that knows every adapter. It opens a conversation from options, or says why not."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from anyio import to_thread
from msgspec.structs import replace

from ostinato.attachments.instruction_files import LoadedInstructions
from ostinato.deferred_tools import FoundTools, found_in
from ostinato.engine.apart_commands import may_run_apart, processes_of
from ostinato.engine.budget import TreeBudget, check_prices
from ostinato.engine.cache_watching import CacheWatching
from ostinato.engine.clock import RandomIds, SystemClock
from ostinato.engine.context_pipeline import ContextPipeline, ContextSources
from ostinato.engine.fallback_models import open_fallbacks
from ostinato.engine.fresh_key import key_refresher
from ostinato.engine.gate import Gate
from ostinato.engine.ground import Ground, ground_of, limits_of
from ostinato.engine.known_secrets import KnownSecrets
from ostinato.engine.last_pass import LastPass, monotonic_s_of
from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.offered_tools import BUILTIN_NAMES, Offered, offered_tools
from ostinato.engine.options import Options
from ostinato.engine.parts import Begun, Parts, Place
from ostinato.engine.prompt import system_blocks
from ostinato.engine.prompt_queue import pending_prompts
from ostinato.engine.prompt_reader import PromptReader
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.retry_setting import with_retries
from ostinato.engine.seen_files import seen_in
from ostinato.engine.session import (
    Session,
    new_session,
    opened_history,
    resumed_session,
    spill_folder,
)
from ostinato.engine.session_model import kept_name
from ostinato.engine.setting import Setting
from ostinato.engine.shortening import Shortening
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.engine.slash_scene import SlashGround, slash_reader
from ostinato.engine.small_model import open_small_model
from ostinato.engine.surroundings import Sources, Surroundings, surroundings_of
from ostinato.engine.thinking import wish_notices
from ostinato.engine.web_access import PublicWeb, search_of, searches_by_provider
from ostinato.errors import ConfigurationError
from ostinato.hideable_rounds import TOOL_NAME as SNIP_TOOL
from ostinato.hideable_rounds import HideableRounds
from ostinato.loop.deps import Deps
from ostinato.loop.still_running import StillRunning
from ostinato.option_values import PermissionMode
from ostinato.permissions.rules import Rule
from ostinato.permissions.verdict import Policy
from ostinato.ports import ModelFacts, Permissions
from ostinato.processes import BackgroundFacts
from ostinato.records import SessionStarted
from ostinato.sandbox.environment import ChildEnvironment
from ostinato.sandbox.shell_folder import ShellFolder
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.state import ModelSettings
from ostinato.todo_list import TodoList, todos_in
from ostinato.tool import Tool, find_tool
from ostinato.tools.equipment import Equipment
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

    Raises UsageError (options, `--settings`, tools, folder, session), ConfigurationError (rules, key, model, address),
    LocalModelError, JournalError. A fault in any other settings file is a notice.
    """
    ground = await ground_of(options)
    try:
        await _remove_old_sessions(ground)
        return await _assembled(ground.effect.options, ground)
    except BaseException:
        ground.session.journal.close()
        raise


async def _remove_old_sessions(ground: Ground) -> None:
    """Where the settings say how long sessions are kept. This conversation's own is open, so it stays."""
    days, root = ground.effect.kept_days, ground.data_root
    if days is None or root is None:
        return
    from ostinato.journal.old_sessions import remove_old_sessions  # ruff: ignore[import-outside-top-level] - few settings say so

    await to_thread.run_sync(partial(remove_old_sessions, root, days=days, now=SystemClock().now()))


async def _assembled(options: Options, ground: Ground) -> QueryEngine:
    opened = replace(ground.session, records=())  # what was read is the history's to hold, or to forget
    maker = _Maker(options, replace(ground, session=opened))
    if ground.session.is_new:
        begun = maker.begun(ground.session, ground.chosen.facts)
    else:
        begun = await to_thread.run_sync(maker.begun, ground.session, ground.chosen.facts)
    parts = await maker.parts(begun.place, ground.chosen)
    mode_of = partial(prompt_mode, runs_shell_lines=options.shell_lines)
    return QueryEngine(
        maker,
        parts,
        begun,
        reader_for=maker.reader,
        mode_of=mode_of,
        has_to_read=lambda text: mode_of(text) != "prompt",
    )


class _Maker:
    """Implements `EngineMaker`: the first parts of an engine and all later ones are made here, from the same ground."""

    def __init__(self, options: Options, ground: Ground) -> None:
        self._secrets = KnownSecrets(ground.access.environment, ground.access.newest_key)
        options = replace(options, refresh_api_key=self._secrets.heard(options.refresh_api_key))
        self._options = options
        self._ground = ground
        self._clock, self._ids = SystemClock(), RandomIds()
        self._instructions, self._still_running = LoadedInstructions(), StillRunning()
        self._budget = TreeBudget(limits_of(options), self._clock)
        self._chain = open_fallbacks(options, self._budget.limits, self.choose_model, first=ground.chosen)
        self._web = PublicWeb(options, ground.environment)
        self._search = search_of(options, ground.environment)
        self._small = open_small_model(
            options, self._budget.limits, self.choose_model, ground.environment, first=ground.chosen
        )
        self._gate = Gate(
            Policy(options.permission_mode or "default", ground.effect.rules),
            options.can_use_tool,
            home=ground.home,
            builtin_names=BUILTIN_NAMES,
            keeper=ground.effect.keeper,
            is_bypass_disabled=ground.effect.is_bypass_disabled,
            tell=options.on_notice,
            mask=self._secrets.mask,
        )

    def reader(self, engine: QueryEngine) -> PromptReader:
        ground = SlashGround(
            self._ground.configuration,
            policy=lambda: self._gate.policy,
            with_rules=self.with_rules,
            instructions=lambda: self._instructions,
            runs_shell_lines=self._options.shell_lines,
            on_shell_output=self._options.on_shell_output,
            tell=self._options.on_notice,
        )
        return slash_reader(engine, ground)

    def choose_model(self, name: str) -> ChosenModel:
        """What the options say of the model they name does not hold for another one."""
        options = self._options
        if name != options.model:
            options = replace(options, model=name, model_overrides={})
        return self._ground.access.choose(options, data_root=self._ground.data_root)

    async def begin(self, session_file: Path | None, model: ModelFacts) -> Begun:
        if session_file is not None:
            # one stay in the thread: a cancellation in between would leave the session's file open
            return await to_thread.run_sync(self._resumed, session_file, model)
        wanted = replace(self._options, session_id=None)
        self._budget.restart()
        return self.begun(new_session(wanted, self._ground.data_root, self._ground.cwd), model)

    def _resumed(self, session_file: Path, model: ModelFacts) -> Begun:
        session = resumed_session(session_file, model=kept_name(model))
        try:
            return self.begun(session, model)
        except BaseException:
            session.journal.close()
            raise

    def begun(self, session: Session, model: ModelFacts) -> Begun:
        ground = self._ground
        spill = spill_folder(session)
        children = ChildEnvironment(ground.environment)
        background = processes_of(self._options, children, spill, self._tell_of_end)
        shell = ShellFolder(ground.cwd, ground.roots)
        workspace = LocalWorkspace(ground.cwd, ground.roots, children, spill, ground.home, background, shell)
        place = Place(
            session.session_id,
            session.journal,
            workspace,
            seen_in(session.records),
            session.notices,
            TodoList(todos_in(session.records)),
            FoundTools(found_in(session.records)),
            CacheWatching(monotonic_s_of(session.replied_at, self._clock)),
            LastPass(session.replied_at),
        )
        started = SessionStarted(session.session_id, str(ground.cwd), kept_name(model), VERSION)
        return Begun(place, opened_history(session, started), pending_prompts(session.records))

    def _tell_of_end(self, facts: BackgroundFacts) -> None:
        from ostinato.tools.background_text import background_notice  # ruff: ignore[import-outside-top-level] - few commands run on

        self._options.on_notice(background_notice(facts))

    async def parts(self, place: Place, chosen: ChosenModel) -> Parts:
        check_prices(self._budget.limits, chosen.facts)
        hideable = HideableRounds() if self._options.config.snip_tool and self._options.config.snip else None
        offered = self._offered(place, chosen, hideable)
        if find_tool(offered.tools, SNIP_TOOL) is None:
            hideable = None
        around = await self._surroundings(place, chosen.facts, offered.tools, hideable)
        self._instructions = around.instructions
        shortening = Shortening(self._ids.uuid)
        pipeline = self._pipeline(place, offered.tools, hideable)
        deps = Deps(
            chosen.model.stream,
            self._gate,
            place.journal,
            self._clock,
            self._ids,
            self._secrets.mask,
            collect_attachments=around.collect,
            prefetch=around.prefetch,
            mentions=around.mentions,
            budget=self._budget,
            jitter=_jitter,
            prepare_context=pipeline,
            drain_collapsed=pipeline.drain if self._options.config.collapse else None,
            shorten=shortening.overflow,
            strip_media=shortening.media,
            after_tool=tuple(self._options.after_tool_hooks),
            stop_hooks=tuple(self._options.stop_hooks),
            stop_failure_hooks=tuple(self._options.stop_failure_hooks),
            fallbacks=self._chain.fallbacks,
            set_alarm=self._clock.set_alarm,
            refresh_auth=key_refresher(self._options.refresh_api_key, chosen),
            side_model=self._small.side_model,
            watch_cache=place.watch_cache,
            still_running=self._still_running,
            may_go_on=self._gate.may_go_on if self._options.can_use_tool is not None else None,
        )
        return Parts(place, chosen, self._setting(place, chosen, offered, around), deps)

    def _offered(self, place: Place, chosen: ChosenModel, hideable: HideableRounds | None) -> Offered:
        options, rules = self._options, self._ground.effect.rules
        search = None if self._searches_itself(chosen) else self._search
        equipment = Equipment(place.todos, options.ask_user, self._web, search, hideable)
        return offered_tools(options, rules, chosen.facts, equipment, place.found_tools)

    def _searches_itself(self, chosen: ChosenModel) -> bool:
        ground = self._ground
        return searches_by_provider(self._options, chosen.facts, ground.effect.rules, ground.environment)

    def _pipeline(
        self, place: Place, tools: tuple[Tool, ...], hideable: HideableRounds | None
    ) -> ContextPipeline:
        sources = ContextSources(
            place.workspace,
            place.files,
            tools,
            self._clock,
            self._ids,
            may_read=lambda path: self._gate.may_read(path, place.workspace),
            whole_path=place.journal.path,
            auto_compact=self._options.config.auto_compact,
            collapse=self._options.config.collapse,
            hideable=hideable,
            snip=self._options.config.snip,
            microcompact=self._options.config.microcompact,
            last_pass=place.last_pass,
        )
        return ContextPipeline(sources)

    def facts_of(self, model: str) -> ModelFacts | None:
        from ostinato.providers.catalogue import facts_of, full_name  # ruff: ignore[import-outside-top-level] - only a resumed session asks

        try:
            return facts_of(full_name(model))
        except ConfigurationError:
            return None

    def set_permission_mode(self, mode: PermissionMode) -> None:
        self._gate.set_permission_mode(mode)

    def with_rules(self, rules: tuple[Rule, ...]) -> Permissions:
        return self._gate.with_rules(rules)

    async def aclose(self) -> None:
        await self._chain.aclose()
        await self._small.aclose()

    async def _surroundings(
        self, place: Place, facts: ModelFacts, tools: tuple[Tool, ...], hideable: HideableRounds | None
    ) -> Surroundings:
        sources = Sources(
            place.workspace,
            place.files,
            self._clock,
            self._ids,
            may_read=lambda path: self._gate.may_read(path, place.workspace),
            home=self._ground.home,
            data_root=self._ground.data_root,
            instruction_excludes=self._ground.effect.instruction_excludes,
            todos=place.todos,
            hideable=hideable,
            is_apart=find_tool(tools, "Bash") is not None and may_run_apart(self._options),
            git_environment=self._ground.environment if self._tells_of_repository else None,
        )
        return await surroundings_of(sources, facts, with_instructions=self._options.instructions)

    @property
    def _tells_of_repository(self) -> bool:
        """A caller's own system prompt is whole as it is, and who wants no instructions wants the folder to say nothing."""
        return self._options.instructions and self._options.system_prompt is None

    def _setting(self, place: Place, chosen: ChosenModel, offered: Offered, around: Surroundings) -> Setting:
        options, ground, facts = self._options, self._ground, chosen.facts
        system = system_blocks(
            options.system_prompt,
            options.append_system_prompt,
            is_short=facts.short_prompt,
            repository=around.repository,
        )
        return Setting(
            session_id=place.session_id,
            model=facts,
            tools=offered.tools,
            deferred=offered.deferred,
            workspace=place.workspace,
            files=place.files,
            settings=ModelSettings(
                system,
                around.user_context,
                options.temperature,
                self._searches_itself(chosen),
                own_system_blocks=1 if around.repository.strip() else 0,
            ),
            config=with_retries(options.config, ground.environment),
            permission_mode=self._gate.permission_mode,
            max_turns=options.max_turns,
            max_output_tokens=options.max_output_tokens,
            thinking=options.thinking,
            effort=options.effort,
            key_source=ground.access.key_source(facts.provider),
            notices=(
                *place.notices,
                *ground.effect.notices,
                *chosen.notices,
                *self._chain.notices,
                *self._small.notices,
                *wish_notices(options.thinking, options.effort, facts),
            ),
        )


def _jitter() -> float:
    import random  # ruff: ignore[import-outside-top-level] - only a retry waits by chance

    return random.random()
