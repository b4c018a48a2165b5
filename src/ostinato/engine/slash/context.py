"""`/context`: what fills the window, what edits saved, and taking one of them back. The same as JSON for programs."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ostinato.context.reactive import message_tokens
from ostinato.engine.cache_price import price_of_change, shown_price
from ostinato.engine.context_report import ContextReport, MadeEdit, context_report, made_edits
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.no_model import NO_MODEL
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import padded, shown_line
from ostinato.messages import Message
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.records import Undo
from ostinato.window_limits import auto_compact_tokens

SHOWN_ID: Final = 8
MAX_EDITS: Final = 15
MAX_PROMPTS: Final = 10
MAX_MISSED: Final = 5
MAX_COLUMNS_A_MISS: Final = 500
"""Enough for every cause at once."""
BAR_COLUMNS: Final = 20
_NAME_COLUMNS: Final = 30
HINT: Final = "`/context`, `/context --json`, or `/context undo EDIT` with the first letters of an edit's id"


async def answer_context(scene: SlashScene, arguments: str) -> SlashReply:
    words = arguments.split()
    context = scene.context()
    if words[:1] == ["undo"] and len(words) == 2:
        return await _undo(scene, context, words[1])
    if words not in ([], ["--json"]):
        return refusal("these arguments mean nothing to `/context`; nothing was done", hint=HINT)
    report = context_report(
        context.state,
        context.request(),
        context.user_context(),
        context.used_tokens(),
        await context.whole_history(),
        auto_compact=context.auto_compact,
    )
    if words:
        return SlashReply(msgspec.json.encode(report).decode() + "\n", is_kept=False)
    return SlashReply("".join(_lines(report)), is_kept=False)


async def _undo(scene: SlashScene, context: ConversationContext, wanted: str) -> SlashReply:
    whole = await context.whole_history()
    found = [edit for edit in made_edits(whole) if edit.edit_id.startswith(wanted)]
    if len(found) != 1:
        what = "no edit in force has" if not found else f"{len(found)} edits have"
        return refusal(
            f"{what} an id that begins with `{shown_line(wanted, 40)}`", hint="`/context` lists them"
        )
    before = context.state.messages.view()
    await context.edit(Undo(scene.uuid(), found[0].edit_id))
    now = scene.context()
    return SlashReply(f"taken back: {_named(found[0])}\n{_price(context, before, now)}{_warning(now)}")


def _price(was: ConversationContext, before: Sequence[Message], now: ConversationContext) -> str:
    """What stands before the change stays in the cache."""
    view, used = now.state.messages.view(), now.used_tokens()
    changed = sum(map(message_tokens, view[_same_beginning(before, view) :]))
    whole = whole_request_tokens(now.request())
    kept = round(used * max(0, whole - changed) / max(1, whole))
    model = now.state.tool_use_context.model
    return price_of_change(used, model, kept_tokens=kept, was_tokens=was.used_tokens())


def _same_beginning(before: Sequence[Message], now: Sequence[Message]) -> int:
    pairs = zip(before, now, strict=False)
    different = (place for place, (then, new) in enumerate(pairs) if then != new)
    return next(different, min(len(before), len(now)))


def _warning(now: ConversationContext) -> str:
    limit = auto_compact_tokens(now.state.tool_use_context.model)
    if now.auto_compact and now.used_tokens() >= limit:
        return "The window is full with it: the next prompt summarises the conversation again.\n"
    return ""


def _lines(report: ContextReport) -> Iterable[str]:
    if not _is_window_known(report):
        yield f"no model can be asked, so what fits is not known: about {report.used_tokens:,} tokens are used\n\n"
    else:
        yield f"{shown_line(report.model, 60)}: about {report.used_tokens:,} of {report.window_tokens:,} tokens are used"
        yield f" ({report.used_tokens / report.window_tokens:.0%})\n{_counted(report)}\n"
    rows = [(part.name, part.tokens) for part in report.parts]
    if _is_window_known(report):
        rows += [("kept free for the reply", report.reserved_for_reply_tokens), ("free", report.free_tokens)]
    whole = max(report.window_tokens, report.used_tokens, 1)
    for name, tokens in rows:
        bar = "█" * min(BAR_COLUMNS, round(BAR_COLUMNS * tokens / whole))
        yield f"{padded(shown_line(name, _NAME_COLUMNS), _NAME_COLUMNS)} {tokens:>10,}  {bar}".rstrip() + "\n"
    if report.compacts_at_tokens is not None and _is_window_known(report):
        yield f"\nfrom {report.compacts_at_tokens:,} tokens on the conversation is summarised\n"
    yield from _cache_lines(report)
    yield from _edit_lines(report.edits)
    if report.prompts:
        yield "\nyour prompts, as `/compact --up-to NUMBER` and `--from NUMBER` count them\n"
        yield from (
            f"{one.number:>4}  {shown_line(one.beginning, 80)}\n" for one in report.prompts[-MAX_PROMPTS:]
        )


def _is_window_known(report: ContextReport) -> bool:
    return report.window_tokens > NO_MODEL.context_window


def _counted(report: ContextReport) -> str:
    if report.counted_tokens == 0:
        return "all of it is estimated: no reply has counted the conversation as it is now\n"
    newer = report.used_tokens - report.counted_tokens
    return f"{report.counted_tokens:,} of them were counted by the provider, {newer:,} newer ones are estimated\n"


def _cache_lines(report: ContextReport) -> Iterable[str]:
    cache = report.cache
    if cache.sent_tokens is not None:
        yield f"\nof the {cache.sent_tokens:,} tokens sent last, the provider read {cache.read_tokens or 0:,} from its cache"
        yield f" and wrote {cache.written_tokens or 0:,} to it\n"
        cached, anew = shown_price(cache.next_from_cache_usd), shown_price(cache.next_anew_usd)
        yield f"reading all of it again costs {cached} from the cache, {anew} anew\n"
    if cache.missed:
        times = "once" if len(cache.missed) == 1 else f"{len(cache.missed)} times"
        yield f"the cache was missed {times}\n"
        yield from (f"  {shown_line(one.text, MAX_COLUMNS_A_MISS)}\n" for one in cache.missed[-MAX_MISSED:])


def _edit_lines(edits: Sequence[MadeEdit]) -> Iterable[str]:
    if not edits:
        return
    saved = sum(edit.tokens_saved for edit in edits)
    counted = "1 edit" if len(edits) == 1 else f"{len(edits)} edits"
    yield f"\n{counted} saved about {saved:,} tokens; `/context undo EDIT` takes one back\n"
    left_out = len(edits) - MAX_EDITS
    if left_out > 0:
        yield f"  ({left_out} older ones, `/context --json` has all)\n"
    for edit in edits[-MAX_EDITS:]:
        yield f"  {edit.edit_id[:SHOWN_ID]}  {edit.tokens_saved:>9,}  {_named(edit)}\n"


def _named(edit: MadeEdit) -> str:
    return shown_line(f"{edit.kind}: {edit.what}".rstrip(": "), 100)
