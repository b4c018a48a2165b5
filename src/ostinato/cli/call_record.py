"""Which calls a query made and which of them succeeded: what a denial weighs in the end is read from this."""

from collections.abc import Mapping
from typing import Any

from ostinato.cli.call_target import call_target
from ostinato.events import AssistantEvent, Denial, Event, UserEvent
from ostinato.messages import ToolResult, ToolUse


class CallRecord:
    """Read from messages, which are never dropped, in the order in which they come."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolUse] = {}
        self._places: dict[str, int] = {}
        self._succeeded: list[str] = []

    def take(self, event: Event) -> None:
        match event:
            case AssistantEvent(message):
                for call in message.tool_uses:
                    self._places[call.id] = len(self._places)
                    self._calls[call.id] = call
            case UserEvent(message):
                results = [block for block in message.content if isinstance(block, ToolResult)]
                self._succeeded.extend(result.tool_use_id for result in results if not result.is_error)
            case _:
                pass

    def lasting(self, denials: tuple[Denial, ...]) -> tuple[Denial, ...]:
        """The denials that no later call with the same tool and target made up for."""
        return tuple(denial for denial in denials if not self._is_made_up(denial))

    def _is_made_up(self, denial: Denial) -> bool:
        place = self._places.get(denial.tool_use_id, -1)
        wanted = _attempted(denial.tool_name, denial.tool_input)
        return any(
            self._places[call_id] > place
            and _attempted(self._calls[call_id].name, self._calls[call_id].input) == wanted
            for call_id in self._succeeded
            if call_id in self._calls
        )


def _attempted(name: str, tool_input: Mapping[str, Any]) -> tuple[str, str]:
    return name, call_target(tool_input)
