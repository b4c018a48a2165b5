"""`/compact`: the conversation makes room now: all but its newest rounds, all up to a message, or all from one on, as the user says
what matters. `--preview` tells what would happen and what it costs, and asks no model.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from ostinato.context.compaction import Compacted, Folded, NotCompacted
from ostinato.context.reactive import message_tokens
from ostinato.engine.context_report import said_prompts
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.costs import cost_usd, prices_of
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.invariants import cut_points
from ostinato.messages import Message, Usage
from ostinato.ports import ModelFacts

USUAL_SUMMARY_TOKENS: Final = 2_000
MIN_UUID: Final = 4
HINT: Final = "`/compact [--preview] [--up-to MESSAGE | --from MESSAGE] [what to keep]`; `/context` numbers your prompts"


class _Wish(msgspec.Struct, frozen=True):
    instructions: str = ""
    is_preview: bool = False
    side: Literal["", "up-to", "from"] = ""
    message: str = ""


async def answer_compact(scene: SlashScene, arguments: str) -> SlashReply:
    wish = _read(arguments)
    if wish is None:
        return refusal("a message must follow `--up-to` or `--from`, and only one of them", hint=HINT)
    context = scene.context()
    view = context.state.messages.view()
    start = _place(view, wish.message) if wish.side else None
    if wish.side and start is None:
        named = shown_line(wish.message, 40)
        return refusal(
            f"no prompt has the number, and no message the id `{named}` at which could be cut", hint=HINT
        )
    if wish.is_preview:
        return SlashReply(_preview(context, view, wish, start), is_kept=False)
    return await _compacted(context, wish, start)


async def _compacted(context: ConversationContext, wish: _Wish, start: int | None) -> SlashReply:
    compaction, facts = context.compaction(), context.pass_facts()
    messages, words = context.state.messages, wish.instructions
    done: Compacted | Folded | NotCompacted
    if wish.side == "from" and start is not None:
        done = await compaction.fold_from(messages, facts, start, instructions=words)
    else:
        done = await compaction(messages, facts, trigger="manual", instructions=words, kept_from=start)
    match done:
        case NotCompacted():
            told = f"nothing was changed: {done.message}"
            return SlashReply(told + "\n") if done.why == "too_little" else refusal(told)
        case Folded():
            await context.edit(done.fold)
            return _told(done.fold.edit_id, done.tokens_before, done.tokens_after)
        case Compacted():
            await context.edit(done.boundary)
            notice = context.note(done.boundary)
            told = _told(done.boundary.edit_id, done.boundary.pre_tokens, done.tokens_after)
            return msgspec.structs.replace(told, notices=(notice,))


def _told(edit_id: str, before: int, after: int) -> SlashReply:
    return SlashReply(
        f"about {before:,} tokens of the conversation are about {after:,} now; `/context undo {edit_id[:8]}` takes it back\n"
    )


def _read(arguments: str) -> _Wish | None:
    """The flags come first; the rest is for the one who writes the summary, as typed."""
    wish, rest = _Wish(), arguments.strip()
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        rest = rest.lstrip()
        if flag == "--preview":
            wish = msgspec.structs.replace(wish, is_preview=True)
            continue
        side = {"--up-to": "up-to", "--from": "from"}.get(flag)
        message, _, rest = rest.partition(" ")
        if side is None or not message or wish.side:
            return None
        wish = _Wish(is_preview=wish.is_preview, side="up-to" if side == "up-to" else "from", message=message)
        rest = rest.lstrip()
    return msgspec.structs.replace(wish, instructions=rest)


def _place(view: Sequence[Message], named: str) -> int | None:
    """Where the message stands, if the conversation can be cut there."""
    prompts = list(said_prompts(view))
    uuid = next((one.uuid for one in prompts if named == str(one.number)), "")
    is_this = [
        index
        for index, message in enumerate(view)
        if message.uuid == uuid or (not uuid and len(named) >= MIN_UUID and message.uuid.startswith(named))
    ]
    return is_this[0] if len(is_this) == 1 and is_this[0] in cut_points(view) else None


def _preview(context: ConversationContext, view: Sequence[Message], wish: _Wish, start: int | None) -> str:
    whole = sum(map(message_tokens, view))
    part = view if start is None else view[start:] if wish.side == "from" else view[:start]
    tokens = sum(map(message_tokens, part))
    which = (
        "all but the newest rounds"
        if start is None
        else f"everything {wish.side} the message".replace("-", " ")
    )
    model, used = context.state.tool_use_context.model, context.used_tokens()
    shared = used if wish.side != "up-to" else 0
    asked = Usage(
        input_tokens=used - shared if shared else tokens,
        cache_read_input_tokens=shared,
        output_tokens=USUAL_SUMMARY_TOKENS,
    )
    after = max(0, used - tokens) + USUAL_SUMMARY_TOKENS
    anew = Usage(cache_creation_input_tokens=after)
    return (
        f"a summary would stand for {which}: about {tokens:,} of {whole:,} tokens in {len(part)} messages\n"
        f"writing it would cost about {_price(asked, model)}, if the provider still holds the conversation in its cache\n"
        f"the next request would be read anew: about {_price(anew, model)}\n"
    )


def _price(usage: Usage, model: ModelFacts) -> str:
    prices = prices_of(model)
    tokens = usage.context_tokens
    return f"{tokens:,} tokens (price not known)" if prices is None else f"${cost_usd(usage, prices):.4f}"
