"""JSON for programs: one result object at the end, or the whole query as a stream of messages."""

from collections.abc import Callable

from ostinato.cli.ending import ending_text
from ostinato.cli.shown import NOTHING, Shown, warning_line
from ostinato.cli.tool_lines import ToolLines
from ostinato.engine.answer import Answer
from ostinato.events import Event, Result, Terminal
from ostinato.protocols.json_lines import json_document, json_line
from ostinato.protocols.result_message import result_message
from ostinato.protocols.stream_json import StreamJson


class JsonOutput:
    """Implements `Renderer`: the result message alone, whatever its length."""

    def __init__(self, *, is_verbose: bool, resume_hint: str) -> None:
        self._is_verbose = is_verbose
        self._resume_hint = resume_hint
        self._answer = Answer()
        self._tools = ToolLines()

    def begin(self) -> Shown:
        return NOTHING

    def show(self, event: Event) -> Shown:
        self._answer.take(event)
        match event:
            case Terminal():
                return Shown(talk=ending_text(event, self._answer, self._resume_hint))
            case Result():
                return Shown(json_document(result_message(event)))
            case _:
                return Shown(
                    talk=warning_line(event) or (self._tools.line(event) if self._is_verbose else "")
                )


class StreamJsonOutput:
    """Implements `Renderer`: a line for each message, and no talk at all. A terminated run has no result."""

    def __init__(self, stream: StreamJson, is_terminated: Callable[[], bool]) -> None:
        self._stream = stream
        self._is_terminated = is_terminated

    def begin(self) -> Shown:
        return Shown(json_line(self._stream.init_message()))

    def show(self, event: Event) -> Shown:
        if isinstance(event, Terminal | Result) and self._is_terminated():
            return NOTHING
        return Shown(b"".join(json_line(message) for message in self._stream.messages(event)))
