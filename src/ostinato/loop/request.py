"""The request of one pass: view, prompt and tools put together; the same for the same history, byte for byte."""

import msgspec

from ostinato.history import History
from ostinato.loop.deps import QueryParams
from ostinato.messages import AssistantMessage
from ostinato.normalise.normaliser import Normaliser
from ostinato.normalise.repairing import MAX_REPAIR_LEVEL
from ostinato.normalise.token_estimate import MessageSizes, request_tokens, tools_tokens
from ostinato.ports import ModelFacts, ModelRequest, RequestMessage, ToolSchema
from ostinato.records import ResponseEnded
from ostinato.state import ModelSettings, State
from ostinato.tool import Tool

DEFAULT_MAX_OUTPUT_TOKENS = 32_000
"""Asked for when neither the caller nor a recovery sets a limit; never above the model's own (semantics §9.3)."""


def max_output_tokens(state: State, wanted: int | None = None) -> int:
    """`wanted` is the caller's own limit, which holds for every pass."""
    limit = state.tool_use_context.model.max_output_tokens
    return min(state.max_output_tokens_override or wanted or DEFAULT_MAX_OUTPUT_TOKENS, limit)


def searches_web(settings: ModelSettings, model: ModelFacts) -> bool:
    """Whether the provider may search while it answers: the user wants it, and this model can."""
    return settings.searches_web and model.searches_web


class _Counted(msgspec.Struct, frozen=True):
    """The newest reply whose usage is known, and the tools of the request that it answered."""

    reply: ResponseEnded | None
    tools: tuple[ToolSchema, ...]


class RequestBuilder:
    """Builds the requests of one query. Parts that did not change are the same objects from pass to pass, so that an
    adapter need not encode them again.
    """

    def __init__(self, params: QueryParams) -> None:
        self._settings = params.settings
        self._max_output_tokens = params.max_output_tokens_override
        self._is_strict = params.config.normalise_strictly
        self._model = params.tool_use_context.model
        self._normaliser = Normaliser(self._model, strict=self._is_strict)
        self._tools: tuple[Tool, ...] | None = None
        self._found: tuple[str, ...] = ()
        self._schemas: tuple[ToolSchema, ...] = ()
        self._built: tuple[State, ModelRequest] | None = None
        self._sizes = MessageSizes()
        self._counted = _Counted(None, ())

    def knows_call(self, call_id: str) -> bool:
        """Whether the history of the last request has a call with this id."""
        return self._normaliser.knows_call(call_id)

    def next_repair(self, state: State) -> int | None:
        """The lowest level above the state's own at which the request would be another one; None if there is none."""
        now = self._messages(state, state.bounds.repairs)
        levels = range(state.bounds.repairs + 1, MAX_REPAIR_LEVEL + 1)
        return next((level for level in levels if self._messages(state, level) != now), None)

    def _messages(self, state: State, repair_level: int) -> list[RequestMessage]:
        return self._normaliser.request_messages(
            state.messages,
            self._settings.user_context,
            continues_reply=_continues_reply(state),
            repair_level=repair_level,
        )

    def tokens(self, state: State) -> int:
        """Input tokens of the request of this state. Raises IllegalHistory in strict mode."""
        request = self.build(state)
        return request_tokens(
            request,
            state.messages,
            self._sizes,
            new_tools_tokens=self._new_tools_tokens(),
            window_tokens=state.tool_use_context.model.context_window,
        )

    def estimate(self, request: ModelRequest, history: History) -> int:
        """Input tokens of a request that was built here from this history, whatever its reply is allowed."""
        return request_tokens(request, history, self._sizes)

    def _new_tools_tokens(self) -> int:
        """Of tools that the request which was counted last did not have yet."""
        if self._counted.tools is self._schemas:
            return 0
        known = {tool.name for tool in self._counted.tools}
        return tools_tokens(tool for tool in self._schemas if tool.name not in known)

    def build(self, state: State) -> ModelRequest:
        """The same request for the same state. Raises IllegalHistory in strict mode."""
        if self._built is not None and self._built[0] is state:
            return self._built[1]
        request = self._made(state)
        self._built = (state, request)
        return request

    def _made(self, state: State) -> ModelRequest:
        context, before = state.tool_use_context, self._schemas
        if self._model is not context.model:
            # Another one took over: what only the first can read is left out.
            self._model = context.model
            self._normaliser = Normaliser(self._model, strict=self._is_strict)
        found = context.deferred.found.names
        if self._tools is not context.tools or self._found is not found:
            self._tools, self._found = context.tools, found
            self._schemas = tuple(
                ToolSchema(tool.name, tool.description, tool.input_schema, tool.flat_parameters)
                for tool in context.deferred.sent(context.tools)
            )
        last = state.messages.last_response
        if self._built is None or last is not self._counted.reply:
            self._counted = _Counted(last, self._schemas if self._built is None else before)
        return ModelRequest(
            model=context.model.id,
            system=self._settings.system,
            messages=self._messages(state, state.bounds.repairs),
            tools=self._schemas,
            own_system_blocks=self._settings.own_system_blocks,
            max_output_tokens=max_output_tokens(state, self._max_output_tokens),
            searches_web=searches_web(self._settings, context.model),
            source=context.source,
            tracking=context.tracking,
            temperature=self._settings.temperature,
            thinking=context.thinking,
            continues_reply=_continues_reply(state),
        )


def _continues_reply(state: State) -> bool:
    """A paused reply goes back as it came, with nothing behind it; only the model that paused it goes on in it."""
    if state.transition is None or state.transition.reason != "pause_turn_resume":
        return False
    said = state.messages.tail[0] if state.messages.tail else None
    return not isinstance(said, AssistantMessage) or said.model == state.tool_use_context.model.id
