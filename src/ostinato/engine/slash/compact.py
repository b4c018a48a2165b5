"""`/compact`: the conversation makes room now: all but its newest rounds, all up to a message, or all from one on, as the user says
what matters. `--preview` tells what would happen and what it costs, and asks no model.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from ostinato.context.compaction import TOO_LITTLE, Compacted, Folded, NotCompacted, newest_from
from ostinato.context.reactive import message_tokens
from ostinato.context_pass import PassFacts, Summarise, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.engine.cache_price import price_of_change, shown_price
from ostinato.engine.context_report import said_prompts
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.costs import cost_usd, prices_of
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.invariants import cut_points
from ostinato.loop.compaction_notices import SUMMARISING
from ostinato.messages import Message, Usage
from ostinato.normalise.token_estimate import whole_request_tokens

USUAL_SUMMARY_TOKENS: Final = 2_000
MIN_UUID: Final = 4
FLAGS: Final = frozenset({"--preview", "--up-to", "--from"})
HINT: Final = (
    "`/compact [--preview] [--up-to MESSAGE|--from MESSAGE] [what to keep]`; `/context` numbers your prompts"
)


class _Wish(msgspec.Struct, frozen=True):
    instructions: str = ""
    is_preview: bool = False
    side: Literal["", "up-to", "from"] = ""
    message: str = ""


async def answer_compact(scene: SlashScene, arguments: str) -> SlashReply:
    wish = _read(arguments)
    if wish is None:
        return refusal(
            "a message must follow `--up-to` or `--from`, only one of them, and flags stand before the words",
            hint=HINT,
        )
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
    facts = context.pass_facts()
    told = f"{SUMMARISING}\n{_prices(context, view, wish, start)}"
    telling = msgspec.structs.replace(facts, summarise=_telling(scene.tell, told, facts.summarise))
    return await _compacted(scene, context, telling, wish, start)


def _telling(tell: Callable[[str], None], told: str, summarise: Summarise) -> Summarise:
    """What it costs is said before a model is asked, and only then."""
    left = [told]

    async def told_first(wanted: SummaryWanted) -> SummaryReply | SummaryFailed:
        if left:
            tell(left.pop())
        return await summarise(wanted)

    return told_first


async def _compacted(
    scene: SlashScene, context: ConversationContext, facts: PassFacts, wish: _Wish, start: int | None
) -> SlashReply:
    compaction = context.compaction()
    messages, words = context.state.messages, wish.instructions
    done: Compacted | Folded | NotCompacted
    if wish.side == "from" and start is not None:
        done = await compaction.fold_from(messages, facts, start, instructions=words)
    else:
        done = await compaction(messages, facts, trigger="manual", instructions=words, kept_from=start)
    used = context.used_tokens()
    match done:
        case NotCompacted():
            told = f"nothing was changed: {done.message}"
            return SlashReply(told + "\n") if done.why == "too_little" else refusal(told)
        case Folded(edit):
            await context.edit(edit)
            return _told(scene, edit.edit_id, used)
        case Compacted(edit):
            await context.edit(edit)
            notice = context.note(edit)
            return msgspec.structs.replace(_told(scene, edit.edit_id, used), notices=(notice,))


def _told(scene: SlashScene, edit_id: str, before: int) -> SlashReply:
    """In the numbers of `/context`."""
    after = scene.context().used_tokens()
    return SlashReply(
        f"about {before:,} tokens in the window are about {after:,} now; `/context undo {edit_id[:8]}` takes it back\n"
    )


def _read(arguments: str) -> _Wish | None:
    """The flags come first; the rest is for the one who writes the summary, as typed. None if it cannot be meant so: a `--preview` at
    the end would be no preview, and cost what it was to tell.
    """
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
    return msgspec.structs.replace(wish, instructions=rest) if FLAGS.isdisjoint(rest.split()) else None


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
    part, which = _part(context, view, wish, start), "all but the newest rounds"
    if start is not None:
        which = f"everything {wish.side} the message".replace("-", " ")
    tokens, whole = sum(map(message_tokens, part)), sum(map(message_tokens, view))
    if not tokens:
        return f"nothing would be changed: {TOO_LITTLE.message}\n"
    return (
        f"a summary would stand for {which}: about {tokens:,} of {whole:,} tokens in {len(part)} messages\n"
        f"{_prices(context, view, wish, start)}"
    )


def _prices(context: ConversationContext, view: Sequence[Message], wish: _Wish, start: int | None) -> str:
    """Of writing the summary, and of the request after it."""
    tokens = sum(map(message_tokens, _part(context, view, wish, start)))
    model, used = context.state.tool_use_context.model, context.used_tokens()
    if wish.side == "up-to":  # asked on its own
        asked, condition = Usage(input_tokens=tokens, output_tokens=USUAL_SUMMARY_TOKENS), ""
    else:
        asked = Usage(cache_read_input_tokens=used, output_tokens=USUAL_SUMMARY_TOKENS)
        condition = ", if the provider still holds the conversation in its cache"
    prices = prices_of(model)
    price = shown_price(None if prices is None else cost_usd(asked, prices))
    estimated = whole_request_tokens(context.request())  # on the high side, like `tokens`
    after = used - round(used * min(1.0, tokens / max(1, estimated))) + USUAL_SUMMARY_TOKENS
    return f"writing the summary costs {price}{condition}\n{price_of_change(after, model, was_tokens=used)}"


def _part(
    context: ConversationContext, view: Sequence[Message], wish: _Wish, start: int | None
) -> Sequence[Message]:
    if start is None:
        return view[: newest_from(view, context.state.tool_use_context.model)]
    return view[start:] if wish.side == "from" else view[:start]
