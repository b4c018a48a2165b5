"""The permission gate as the loop sees it: the pure decision first, then the caller's word, and without a caller a no.

Everything that could not be decided is denied when nobody can be asked, and the model is told why.
What decides is loaded with the first call, while the reply still streams, so that no start waits for it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, assert_never

import anyio
import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.engine.call_facts import call_facts, facts_of, may_look_at_repositories, touched
from ostinato.engine.option_checks import check_mode, no_bypass
from ostinato.engine.option_types import shown, shown_text
from ostinato.engine.options import Allow as CallerAllows
from ostinato.engine.options import CanUseTool, PermissionAsked, tells_nobody
from ostinato.engine.options import Deny as CallerDenies
from ostinato.home_folder import NO_HOME
from ostinato.loop.described import Mask
from ostinato.messages import ToolUse
from ostinato.option_values import PermissionMode
from ostinato.permissions.rules import READ_TOOLS, Behaviour, Rule, parse_rule
from ostinato.permissions.verdict import Allow, Ask, CallFacts, Deny, Policy, Verdict
from ostinato.ports import Allowed, DecisionReason, Denied, Futile, PermissionQuery, Permissions, Workspace

ANSWERED: Final = "your answer"
"""The source of a rule that a person's answer made."""

DO_NOT_WORK_AROUND = "Do not try to reach the same end another way; say what you would need."


class RuleKeeper(msgspec.Struct, frozen=True):
    """Where an answer "always" is kept. `save` blocks; it returns what to tell the user, empty when the rules are there."""

    file: Path
    save: Callable[[Sequence[str]], str]


class Gate:
    """Implements the `Permissions` port. Callers are asked one question at a time.

    `is_bypass_disabled`: the settings take the mode `bypassPermissions` away. `tell` gets sentences for the user.
    """

    def __init__(
        self,
        policy: Policy,
        can_use_tool: CanUseTool | None,
        *,
        home: Path | None,
        builtin_names: frozenset[str],
        mask: Mask,
        keeper: RuleKeeper | None = None,
        is_bypass_disabled: bool = False,
        tell: Callable[[str], None] = tells_nobody,
    ) -> None:
        self._policy = policy
        self._can_use_tool = can_use_tool
        self._home = home
        self._builtin_names = builtin_names
        self._keeper = keeper
        self._is_bypass_disabled = is_bypass_disabled
        self._tell = tell
        self._mask = mask
        self._asking = anyio.Lock()

    @property
    def policy(self) -> Policy:
        """Mode and rules of the next decision."""
        return self._policy

    @property
    def permission_mode(self) -> PermissionMode:
        return self._policy.mode

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """From the next decision on. Raises UsageError for a mode that there is not, or that the settings take away."""
        check_mode(mode)
        if mode == "bypassPermissions" and self._is_bypass_disabled:
            raise no_bypass()
        self._policy = replace(self._policy, mode=mode)

    def add_rules(
        self, rules: Sequence[str], behaviour: Behaviour = "allow", *, source: str = "this conversation"
    ) -> None:
        """From the next decision on, until the conversation ends. Raises ConfigurationError, and then adds none of them."""
        added = tuple(parse_rule(rule, behaviour, source) for rule in rules)
        known = {(rule.behaviour, str(rule), rule.anchor) for rule in self._policy.rules}
        new = tuple(rule for rule in added if (rule.behaviour, str(rule), rule.anchor) not in known)
        self._policy = replace(self._policy, rules=(*self._policy.rules, *new))

    def with_rules(self, rules: Sequence[Rule]) -> Permissions:
        """This gate with some rules more; whatever else changes here changes there."""
        return _WithRules(self, tuple(rules))

    async def decide(
        self, query: PermissionQuery, more_rules: tuple[Rule, ...] = ()
    ) -> Allowed | Denied | Futile:
        answer = await self._answer(query, more_rules)
        is_hidden = self._hidden_from(query, more_rules)
        return replace(answer, is_hidden=is_hidden) if is_hidden and isinstance(answer, Allowed) else answer

    def _hidden_from(
        self, query: PermissionQuery, more_rules: tuple[Rule, ...]
    ) -> Callable[[Path], bool] | None:
        """Which files the call may show nothing of, where it searches through a folder."""
        rules = (*self._policy.rules, *more_rules)
        if query.tool.name not in READ_TOOLS or all(rule.behaviour == "allow" for rule in rules):
            return None
        from ostinato.permissions.hidden_files import hidden_files  # ruff: ignore[import-outside-top-level] - see the module's docstring

        searched = query.tool.access(query.input, query.workspace).reads
        return hidden_files(rules, searched, cwd=query.workspace.cwd, home=self._home or NO_HOME)

    async def _answer(
        self, query: PermissionQuery, more_rules: tuple[Rule, ...]
    ) -> Allowed | Denied | Futile:
        policy, verdict = self._policy, await self._verdict(query, more_rules)
        if not _would_ask(verdict):
            return _settled(verdict)
        if self._can_use_tool is None or not isinstance(verdict, Ask):
            futile = await self._futile(query, more_rules, is_patient=True)
            return futile or _settled(await self._now(verdict, policy, query, more_rules))
        async with self._asking:
            # While this question waited for the one before it, that one's answer may have settled both.
            verdict = await self._now(verdict, policy, query, more_rules)
            if not isinstance(verdict, Ask):
                return _settled(verdict)
            futile = await self._futile(query, more_rules, is_patient=False)
            return futile or await self._asked(query, verdict)

    async def _now(
        self, verdict: Verdict, policy: Policy, query: PermissionQuery, more_rules: tuple[Rule, ...]
    ) -> Verdict:
        """The verdict once more, if mode or rules changed since."""
        return verdict if policy is self._policy else await self._verdict(query, more_rules)

    async def _futile(
        self, query: PermissionQuery, more_rules: tuple[Rule, ...], *, is_patient: bool
    ) -> Futile | None:
        """Nobody is asked about what cannot succeed. What the model may not read without a yes is not looked at: it would learn whether
        a file is there, or what is in it.
        """
        policy = self._policy
        if query.cannot_succeed is None or not self._may_look(query, more_rules):
            return None
        why = await query.cannot_succeed(is_patient=is_patient)
        # It may have waited for calls that come first: a rule of meanwhile counts for what it tells.
        is_told = policy is self._policy or self._may_look(query, more_rules)
        return Futile(why) if why is not None and is_told else None

    def _may_look(self, query: PermissionQuery, more_rules: tuple[Rule, ...]) -> bool:
        named = {path for paths in touched(query, self._home) for path in paths}
        judged = () if query.access is None else (*query.access.reads, *query.access.writes)
        return all(self.may_read(path, query.workspace, more_rules) for path in named.union(judged))

    def may_read(self, path: Path, workspace: Workspace, more_rules: tuple[Rule, ...] = ()) -> bool:
        """Whether the rules allow reading this file without asking anybody."""
        facts = call_facts(
            "Read",
            {"file_path": str(path)},
            workspace,
            home=self._home,
            is_read_only=True,
            paths=((path,), ()),
        )
        return isinstance(self._decided(facts, more_rules), Allow)

    async def _asked(self, query: PermissionQuery, verdict: Ask) -> Allowed | Denied:
        if self._can_use_tool is None:
            return _nobody_to_ask(verdict)
        file = None if self._keeper is None else self._keeper.file
        asked = PermissionAsked(
            query.tool.name,
            query.tool_use_id,
            query.input,
            verdict.reason.text,
            verdict.suggestions,
            file,
            verdict.links,
        )
        try:
            return await self._answered(query, asked, await self._can_use_tool(asked))
        except Exception as error:  # ruff: ignore[blind-except] - whatever a caller's own code raises
            return self._without_answer(asked, error)

    async def _answered(
        self, query: PermissionQuery, asked: PermissionAsked, answer: object
    ) -> Allowed | Denied:
        match answer:
            case CallerAllows(updated_input=None | Mapping()):
                await self._remember(asked, answer)
                return await self._allowed_by_caller(query, answer)
            case CallerDenies(message=str()):
                denied = DecisionReason("can_use_tool", "caller", "the caller denied it")
                return Denied(denied, answer.message, interrupt=answer.interrupt)
            case _:
                raise TypeError(f"it returned {shown(answer)}, but neither Allow nor Deny with a text")

    async def may_go_on(self, call: ToolUse, why: str) -> bool:
        """Ask the caller whether a query that repeats itself may go on; without a caller, and without an answer, no."""
        if self._can_use_tool is None:
            return False
        asked = PermissionAsked(call.name, call.id, call.input, f"{why}; shall it go on?")
        async with self._asking:
            try:
                return isinstance(await self._can_use_tool(asked), CallerAllows)
            except Exception as error:  # ruff: ignore[blind-except] - whatever a caller's own code raises
                self._tell(
                    f"`can_use_tool` gave no answer: {type(error).__name__}: {shown_text(error, self._mask)}"
                )
                return False

    def _without_answer(self, asked: PermissionAsked, error: Exception) -> Denied:
        """A no, for nobody said yes; the program's author hears what is wrong, and so does whoever reads the result."""
        what = f"`can_use_tool` gave no answer: {type(error).__name__}: {shown_text(error, self._mask)}"
        self._tell(f"the call of {asked.tool_name} is denied, for {what}")
        message = (
            "The call was not run: the program that should say yes or no failed. Try nothing else for it."
        )
        return Denied(DecisionReason("can_use_tool", "caller", what), message)

    async def _allowed_by_caller(self, query: PermissionQuery, answer: CallerAllows) -> Allowed | Denied:
        """The caller answers for what was asked; an input of its own must pass the deny rules like any other."""
        if answer.updated_input is not None:
            verdict = await self._verdict(replace(query, input=answer.updated_input, access=None))
            if isinstance(verdict, Deny):
                return _denied(verdict)
        reason = DecisionReason("can_use_tool", "caller", "the caller allowed it")
        return Allowed(reason, answer.updated_input)

    async def _remember(self, asked: PermissionAsked, answer: CallerAllows) -> None:
        """Only what was suggested: for anything else nobody proved that it is one simple command."""
        if not answer.remember:
            return
        unasked = [rule for rule in answer.remember if rule not in asked.suggestions]
        if unasked:
            raise ValueError(f"`can_use_tool` may only remember suggested rules, not {unasked[0]!r}")
        self.add_rules(answer.remember, source=ANSWERED)
        if self._keeper is not None and answer.remember_for == "project":
            problem = await to_thread.run_sync(self._keeper.save, answer.remember)
            if problem:
                self._tell(problem)

    async def _verdict(self, query: PermissionQuery, more_rules: tuple[Rule, ...] = ()) -> Verdict:
        # The policy counts as it is when the facts are known.
        if may_look_at_repositories(query):
            return self._decided(await to_thread.run_sync(self._facts, query), more_rules)
        return self._decided(self._facts(query), more_rules)

    def _facts(self, query: PermissionQuery) -> CallFacts:
        return facts_of(query, self._home, self._builtin_names)

    def _decided(self, facts: CallFacts, more_rules: tuple[Rule, ...] = ()) -> Verdict:
        from ostinato.permissions.decision import decide  # ruff: ignore[import-outside-top-level] - see the module's docstring

        policy = self._policy
        return decide(facts, replace(policy, rules=(*policy.rules, *more_rules)) if more_rules else policy)


class _WithRules:
    """Implements the `Permissions` port."""

    def __init__(self, gate: Gate, rules: tuple[Rule, ...]) -> None:
        self._gate = gate
        self._rules = rules

    async def decide(self, query: PermissionQuery) -> Allowed | Denied | Futile:
        return await self._gate.decide(query, self._rules)


def _would_ask(verdict: Verdict) -> bool:
    return isinstance(verdict, Ask) or (isinstance(verdict, Deny) and verdict.is_unasked)


def _settled(verdict: Verdict) -> Allowed | Denied:
    """Without a person: what would be asked is denied."""
    match verdict:
        case Allow():
            return Allowed(_reason(verdict))
        case Deny():
            return _denied(verdict)
        case Ask():
            return _nobody_to_ask(verdict)
        case _:
            assert_never(verdict)


def _nobody_to_ask(verdict: Ask) -> Denied:
    from ostinato.permissions.explanation import explain  # ruff: ignore[import-outside-top-level] - as above

    text = f"{explain(verdict)} Nobody can be asked in this run, so it is denied. {DO_NOT_WORK_AROUND}"
    return Denied(_reason(verdict), text)


def _denied(verdict: Deny) -> Denied:
    from ostinato.permissions.explanation import explain  # ruff: ignore[import-outside-top-level] - as above

    return Denied(_reason(verdict), f"{explain(verdict)} {DO_NOT_WORK_AROUND}")


def _reason(verdict: Verdict) -> DecisionReason:
    return DecisionReason(verdict.reason.rule, verdict.reason.source, verdict.reason.text)
