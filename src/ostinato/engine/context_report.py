"""What fills a model's window and what edits saved, as data: the terminal and programs show the same."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

import msgspec

from ostinato.context.exchanges import shown_call
from ostinato.context.pipeline import freed_tokens
from ostinato.engine.cache_report import CacheReport, cache_report
from ostinato.history import History
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    AttachmentMessage,
    Document,
    Image,
    Message,
    QueuedCommand,
    ServerBlock,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
)
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.normalise.token_estimate import blocks_tokens, counted_tokens, text_tokens, tools_tokens
from ostinato.ports import ModelRequest
from ostinato.records import Boundary, Fold, ReplaceResult, Snip, StripMedia
from ostinato.state import State
from ostinato.undone import undone_edits
from ostinato.window_limits import auto_compact_tokens, reserved_output_tokens

TITLE_CHARACTERS: Final = 80

ShorteningEdit = ReplaceResult | Snip | Fold | Boundary | StripMedia


class Part(msgspec.Struct, frozen=True):
    """`tokens`: its share of what is used, by estimate."""

    name: str
    tokens: int


class SaidPrompt(msgspec.Struct, frozen=True):
    """A prompt of the user's in the view; `number` counts from 1."""

    number: int
    uuid: str
    beginning: str


class MadeEdit(msgspec.Struct, frozen=True):
    """An edit in force; `tokens_saved` by estimate, when it was made."""

    edit_id: str
    kind: str
    what: str
    tokens_saved: int


class ContextReport(msgspec.Struct, frozen=True):
    """`compacts_at_tokens`: from there on the conversation is summarised; None where it never is. `counted_tokens`: how many of the
    used ones the provider has counted; the rest is estimated.
    """

    model: str
    window_tokens: int
    used_tokens: int
    counted_tokens: int
    reserved_for_reply_tokens: int
    compacts_at_tokens: int | None
    parts: tuple[Part, ...]
    prompts: tuple[SaidPrompt, ...]
    edits: tuple[MadeEdit, ...]
    cache: CacheReport

    @property
    def free_tokens(self) -> int:
        return max(0, self.window_tokens - self.reserved_for_reply_tokens - self.used_tokens)


def context_report(
    state: State,
    request: ModelRequest,
    user_context: str,
    used_tokens: int,
    whole: History,
    *,
    auto_compact: bool,
) -> ContextReport:
    """`whole`: the history with what summaries hid."""
    model = state.tool_use_context.model
    view = state.messages.view()
    return ContextReport(
        model=model.id,
        window_tokens=model.context_window,
        used_tokens=used_tokens,
        counted_tokens=min(used_tokens, counted_tokens(request, state.messages, model.context_window)),
        reserved_for_reply_tokens=reserved_output_tokens(model),
        compacts_at_tokens=auto_compact_tokens(model) if auto_compact else None,
        parts=_scaled(_parts(view, request, user_context), used_tokens),
        prompts=tuple(said_prompts(view)),
        edits=tuple(made_edits(whole)),
        cache=cache_report(whole, used_tokens, model),
    )


def said_prompts(view: Sequence[Message]) -> Iterator[SaidPrompt]:
    prompts = [
        one for one in view if isinstance(one, UserMessage) and one.origin == "prompt" and not one.is_meta
    ]
    for number, prompt in enumerate(prompts, 1):
        said = " ".join(block.text for block in prompt.content if isinstance(block, Text))
        yield SaidPrompt(number, prompt.uuid, " ".join(said.split())[:TITLE_CHARACTERS])


def made_edits(whole: History) -> Iterator[MadeEdit]:
    """Oldest first. What was taken back, and what changed nothing, is not among them."""
    log = whole.log()
    undone = undone_edits(log)
    before, calls = History.empty(), dict[str, ToolUse]()
    for record, after in History.steps(log):
        if isinstance(record, AssistantMessage):
            calls.update((call.id, call) for call in record.tool_uses)
        if isinstance(record, ShorteningEdit):
            saved = 0 if record.edit_id in undone else freed_tokens(before, after)
            if saved:
                kind, what = _told(record, calls)
                yield MadeEdit(record.edit_id, kind, what, saved)
        before = after


def _told(edit: ShorteningEdit, calls: Mapping[str, ToolUse]) -> tuple[str, str]:
    match edit:
        case ReplaceResult():
            called = calls.get(edit.tool_use_id)
            where = f", whole in {edit.stored_as}" if edit.stored_as else ""
            what = (shown_call(called) if called else edit.tool_use_id) + where
            return f"result {edit.how}".rstrip(), what
        case Snip():
            return "rounds hidden", "the model asked for it" if edit.is_asked else "looked up again later"
        case Fold():
            return "part in short", _beginning(edit.summary)
        case Boundary():
            return "summary", f"of {edit.pre_tokens:,} tokens ({edit.trigger})"
        case StripMedia():
            return "image or document", edit.note
        case _:
            assert_never(edit)


def _beginning(message: UserMessage) -> str:
    said = " ".join(block.text for block in message.content if isinstance(block, Text))
    return " ".join(said.split())[:TITLE_CHARACTERS]


# ------------------------------------------------------------------------------------------------ parts


def _parts(view: Sequence[Message], request: ModelRequest, user_context: str) -> Mapping[str, int]:
    sizes: Counter[str] = Counter()
    sizes["system prompt"] = sum(_tokens(text) for text in request.system)
    sizes["tools"] = tools_tokens(request.tools)
    if user_context.strip():
        sizes["instructions and date"] = _tokens(user_context)
    names = {
        call.id: call.name for one in view if isinstance(one, AssistantMessage) for call in one.tool_uses
    }
    for message in view:
        for name, tokens in _of_message(message, names):
            sizes[name] += tokens
    return sizes


def _of_message(message: Message, names: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    if isinstance(message, AssistantMessage):
        if not message.is_error:
            for block in message.content:
                yield _of_reply(block), blocks_tokens((block,))
        return
    for block in rendered_user_blocks(message):
        tokens = blocks_tokens((block,))
        if isinstance(block, ToolResult):
            yield f"results of {names.get(block.tool_use_id, 'other tools')}", tokens
        elif isinstance(block, Image | Document):
            yield "images and documents", tokens
        else:
            yield _of_text(message), tokens


def _of_reply(block: AssistantBlock) -> str:
    if isinstance(block, ToolUse | ServerBlock):
        return "calls"
    return "replies" if isinstance(block, Text) else "thinking"


def _of_text(message: Message) -> str:
    if isinstance(message, UserMessage) and message.origin in {"summary", "snip"}:
        return "summaries"
    if isinstance(message, AttachmentMessage):
        is_words = isinstance(message.attachment, QueuedCommand)
        return "your words" if is_words else "files and reminders"
    is_yours = isinstance(message, UserMessage) and not message.is_meta
    return "your words" if is_yours else "the program's own words"


def _scaled(sizes: Mapping[str, int], used_tokens: int) -> tuple[Part, ...]:
    """Largest first; estimates are on the high side, so they are brought down to what was counted."""
    total = sum(sizes.values())
    factor = used_tokens / total if total else 0.0
    ordered = sorted(sizes.items(), key=lambda pair: -pair[1])
    return tuple(Part(name, round(tokens * factor)) for name, tokens in ordered if tokens)


def _tokens(text: str) -> int:
    return text_tokens(len(text.encode("utf-8", "replace")))
