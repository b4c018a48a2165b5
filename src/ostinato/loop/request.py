"""The request of one pass: view, prompt and tools put together; the same for the same history, byte for byte."""

from ostinato.loop.deps import QueryParams
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelRequest, ToolSchema
from ostinato.state import State

DEFAULT_MAX_OUTPUT_TOKENS = 32_000
"""Asked for when neither the caller nor a recovery sets a limit; never above the model's own (semantics §9.3)."""


def max_output_tokens(state: State) -> int:
    limit = state.tool_use_context.model.max_output_tokens
    return min(state.max_output_tokens_override or DEFAULT_MAX_OUTPUT_TOKENS, limit)


def tool_schemas(state: State) -> tuple[ToolSchema, ...]:
    tools = state.tool_use_context.tools
    return tuple(ToolSchema(tool.name, tool.description, tool.input_schema) for tool in tools)


def build_request(state: State, params: QueryParams, normaliser: Normaliser) -> ModelRequest:
    """Raises IllegalHistory in strict mode."""
    context = state.tool_use_context
    return ModelRequest(
        model=context.model.id,
        system=params.settings.system,
        messages=normaliser.request_messages(state.messages, params.settings.user_context),
        tools=tool_schemas(state),
        max_output_tokens=max_output_tokens(state),
        source=context.source,
        tracking=context.tracking,
        temperature=params.settings.temperature,
        thinking=context.thinking,
    )
