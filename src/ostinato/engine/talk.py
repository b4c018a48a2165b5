"""What a conversation holds between its queries and what they change: history, parts, what was spent, what runs now."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ostinato.engine.costs import Spent
from ostinato.engine.parts import EngineMaker, Parts
from ostinato.engine.written import WrittenRecords
from ostinato.events import ModelCost
from ostinato.history import History
from ostinato.loop.deps import PromptSource
from ostinato.loop.run import Run
from ostinato.ports import Abort, ModelFacts
from ostinato.records import Attempt, Record, ResponseEnded


class Running(msgspec.Struct):
    """The submission that has the turn. `run` is there once its query began."""

    abort: Abort
    written: WrittenRecords
    run: Run | None = None


class Talk:
    """Mutable on purpose, and held by one engine alone."""

    def __init__(self, maker: EngineMaker, parts: Parts, history: History, queue: PromptSource) -> None:
        self.maker = maker
        self.queue = queue
        self.parts = parts
        self.history = history
        self.spent = spent_in(history)
        self.running: Running | None = None
        self._known: dict[str, ModelFacts] = {}
        self._know_models_of(parts)

    def adopt(self, parts: Parts) -> None:
        """From the next query on. The permission mode is the engine's own, whatever the options began with."""
        mode = self.parts.setting.permission_mode
        self.parts = replace(parts, setting=replace(parts.setting, permission_mode=mode))
        self._know_models_of(parts)

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
        return facts and self.parts.deps.fallbacks.windows.believed(facts)

    def costs(self) -> Mapping[str, ModelCost]:
        return self.spent.costs(self.facts_of)

    def record(self, record: Record) -> None:
        """Write a fact; while a query runs it is no part of that query's records, since it changes no view."""
        self.parts.place.journal.write(record)
        if self.running is None or self.running.run is None:
            self.history = self.history.append(record)

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
