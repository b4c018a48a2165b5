"""Permission deciders whose answers a test wrote beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio.lowlevel

from ostinato.ports import Allowed, DecisionReason, Denied, PermissionQuery
from ostinato.testing.gate import Gate

BY_TEST = DecisionReason(rule="test", source="test", text="The test decided so.")
ALLOWED = Allowed(BY_TEST)
DENIED = Denied(BY_TEST, "The test denied this call.")


@dataclass(frozen=True, slots=True)
class AnswersAt:
    """The answer is given when the gate opens: a person who takes time."""

    gate: Gate
    answer: Allowed | Denied = ALLOWED


PermissionAnswer = Allowed | Denied | AnswersAt


class ScriptedPermissions:
    """The Permissions port: one answer for each tool name, `otherwise` for all others; `queries` is what was asked."""

    def __init__(
        self, answers: Mapping[str, PermissionAnswer] | None = None, *, otherwise: PermissionAnswer = ALLOWED
    ) -> None:
        self.queries: list[PermissionQuery] = []
        self._answers = dict(answers or {})
        self._otherwise = otherwise

    async def decide(self, query: PermissionQuery) -> Allowed | Denied:
        self.queries.append(query)
        await anyio.lowlevel.checkpoint()
        answer = self._answers.get(query.tool.name, self._otherwise)
        if isinstance(answer, AnswersAt):
            await answer.gate.wait()
            return answer.answer
        return answer


class AllowAll(ScriptedPermissions):
    """Says yes to everything."""


class DenyAll(ScriptedPermissions):
    """Says no to everything."""

    def __init__(self, answer: Denied = DENIED) -> None:
        super().__init__(otherwise=answer)
