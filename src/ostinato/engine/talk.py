"""What a conversation holds between its queries and what they change: history, parts, what was spent, what runs now."""

from collections.abc import Mapping

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.engine.costs import Spent
from ostinato.engine.parts import EngineMaker, Parts
from ostinato.engine.result_account import ResultAccount
from ostinato.engine.written import WrittenRecords
from ostinato.events import ModelCost
from ostinato.hidden_records import without_hidden
from ostinato.history import History
from ostinato.loop.deps import PromptSource
from ostinato.loop.run import Run
from ostinato.messages import Usage
from ostinato.ports import Abort, ModelFacts
from ostinato.records import AnyEdit, Attempt, Boundary, Record, ResponseEnded, Undo


class Running(msgspec.Struct):
    """The submission that has the turn. `run` is there once its query began. `account` is told what a command spent for it."""

    abort: Abort
    written: WrittenRecords
    account: ResultAccount
    run: Run | None = None


class Talk:
    """Mutable on purpose, and held by one engine alone."""

    def __init__(self, maker: EngineMaker, parts: Parts, history: History, queue: PromptSource) -> None:
        self.maker = maker
        self.queue = queue
        self._is_all_written = True
        self.parts = self._forgetting(parts)
        self.goes_on_from(history)
        self.running: Running | None = None
        self._known: dict[str, ModelFacts] = {}
        self._know_models_of(parts)

    def adopt(self, parts: Parts) -> None:
        """From the next query on. The permission mode is the engine's own, whatever the options began with."""
        mode = self.parts.setting.permission_mode
        self.parts = self._forgetting(replace(parts, setting=replace(parts.setting, permission_mode=mode)))
        self._know_models_of(parts)

    def _forgetting(self, parts: Parts) -> Parts:
        """A conversation with a file need not hold what is hidden there."""
        forgets = self._is_all_written and parts.place.journal.path is not None
        return replace(parts, deps=replace(parts.deps, forgets_hidden=forgets))

    def goes_on_from(self, history: History) -> None:
        """What the session's file holds: all that was spent counts, and what a summary has hidden need not be held."""
        self.spent = spent_in(history)
        self.history = without_hidden(history) if self.parts.deps.forgets_hidden else history

    def _know_models_of(self, parts: Parts) -> None:
        for substitute in parts.deps.fallbacks.substitutes:
            self.know(substitute.facts)
        self.know(parts.chosen.facts)

    def know(self, facts: ModelFacts) -> None:
        """Prices of a model that is used from here on."""
        self._known[facts.id] = facts

    def facts_of(self, model: str) -> ModelFacts | None:
        """With the window that the model has turned out to have."""
        facts = self._known.get(model) or self.maker.facts_of(model)
        return facts and self.believed(facts)

    def believed(self, facts: ModelFacts) -> ModelFacts:
        """The same, for facts that were chosen."""
        return self.parts.deps.fallbacks.windows.believed(facts)

    def costs(self) -> Mapping[str, ModelCost]:
        return self.spent.costs(self.facts_of)

    def record(self, record: Record) -> None:
        """Write a fact; while a query runs it is no part of that query's records, since it changes no view."""
        self.parts.place.journal.write(record)
        if self.running is None or self.running.run is None:
            self.history = self.history.append(record)

    def forget_hidden(self) -> None:
        """What a summary has just hidden leaves memory, if the session's file has it."""
        running = self.running
        if running is not None and self.parts.deps.forgets_hidden:
            self.history = without_hidden(self.history.extend(running.written.records))
            running.written.records.clear()

    def said_before(self, history: History) -> None:
        """The history is this, though the session's file does not say so: from here on nothing of it is forgotten."""
        self.history = history
        self._is_all_written = False
        self.parts = self._forgetting(self.parts)

    async def whole(self) -> History:
        """Everything that was said, what memory has forgotten included. Raises JournalError if the file cannot be read."""
        path = self.parts.place.journal.path
        if path is None or not self._has_forgotten():
            return self.so_far()
        from ostinato.journal.read import read_session  # ruff: ignore[import-outside-top-level] - few conversations are asked for all of it

        scan = await to_thread.run_sync(read_session, path)
        return History.fold(scan.records)

    def _has_forgotten(self) -> bool:
        """Whether the session's file may hold more than memory does."""
        return self.parts.deps.forgets_hidden and any(
            isinstance(record, Boundary) for record in self.so_far().log()
        )

    def spend(self, model: str, usage: Usage) -> None:
        self.spent.add(model, usage)
        if self.running is not None:
            self.running.account.spend_beside(model, usage)

    async def edit(self, edit: AnyEdit) -> None:
        """Between queries: write it, and from here on the history is the edited one. Raises JournalError."""
        self.parts.place.journal.write(edit)
        if isinstance(edit, Undo) and self._has_forgotten():
            # even where memory holds the target: what that hid, or what a later edit hid with it, it does not
            self.history = await self.whole()
        else:
            self.history = self.history.append(edit)

    def so_far(self) -> History:
        """The history with what the running query has written until now."""
        if self.running is None:
            return self.history
        return self.history.extend(self.running.written.records)


def spent_in(history: History) -> Spent:
    """What the session's responses cost until now, earlier runs included."""
    spent = Spent()
    for record in history.log():
        if isinstance(record, ResponseEnded | Attempt):
            spent.add(record.model, record.usage)
    return spent
