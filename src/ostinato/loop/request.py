"""The request of one pass: view, prompt and tools put together; the same for the same history, byte for byte."""

from ostinato.loop.deps import QueryParams
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelRequest, ToolSchema
from ostinato.state import State
from ostinato.tool import Tool

DEFAULT_MAX_OUTPUT_TOKENS = 32_000
"""Asked for when neither the caller nor a recovery sets a limit; never above the model's own (semantics §9.3)."""


def max_output_tokens(state: State, wanted: int | None = None) -> int:
    """`wanted` is the caller's own limit, which holds for every pass."""
    limit = state.tool_use_context.model.max_output_tokens
    return min(state.max_output_tokens_override or wanted or DEFAULT_MAX_OUTPUT_TOKENS, limit)


class RequestBuilder:
    """Builds the requests of one query. Parts that did not change are the same objects from pass to pass, so that an
    adapter need not encode them again.
    """

    def __init__(self, params: QueryParams) -> None:
        self._settings = params.settings
        self._max_output_tokens = params.max_output_tokens_override
        self._normaliser = Normaliser(params.tool_use_context.model, strict=params.config.normalise_strictly)
        self._tools: tuple[Tool, ...] | None = None
        self._schemas: tuple[ToolSchema, ...] = ()

    def build(self, state: State) -> ModelRequest:
        """Raises IllegalHistory in strict mode."""
        context = state.tool_use_context
        if self._tools is not context.tools:
            self._tools = context.tools
            self._schemas = tuple(
                ToolSchema(tool.name, tool.description, tool.input_schema, tool.flat_parameters)
                for tool in context.tools
            )
        return ModelRequest(
            model=context.model.id,
            system=self._settings.system,
            messages=self._normaliser.request_messages(state.messages, self._settings.user_context),
            tools=self._schemas,
            max_output_tokens=max_output_tokens(state, self._max_output_tokens),
            source=context.source,
            tracking=context.tracking,
            temperature=self._settings.temperature,
            thinking=context.thinking,
        )
