"""`/context`: what fills the window, what edits saved, and taking one of them back. The same as JSON for programs."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ostinato.engine.context_report import ContextReport, MadeEdit, context_report, made_edits
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import padded, shown_line
from ostinato.records import Undo
from ostinato.window_limits import auto_compact_tokens

SHOWN_ID: Final = 8
MAX_EDITS: Final = 15
MAX_PROMPTS: Final = 10
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
    await context.edit(Undo(scene.uuid(), found[0].edit_id))
    now = scene.context()
    limit = auto_compact_tokens(now.state.tool_use_context.model)
    used = now.used_tokens()
    too_full = used >= limit and context.auto_compact
    warning = (
        "The window is full with it: the next prompt summarises the conversation again.\n" if too_full else ""
    )
    return SlashReply(
        f"taken back: {_named(found[0])}. The conversation has about {used:,} tokens now, and the provider must read the changed part "
        f"anew.\n{warning}"
    )


def _lines(report: ContextReport) -> Iterable[str]:
    yield f"{shown_line(report.model, 60)}: about {report.used_tokens:,} of {report.window_tokens:,} tokens are used"
    yield f" ({report.used_tokens / report.window_tokens:.0%})\n\n"
    rows = [(part.name, part.tokens) for part in report.parts]
    rows += [("kept free for the reply", report.reserved_for_reply_tokens), ("free", report.free_tokens)]
    for name, tokens in rows:
        bar = "█" * round(BAR_COLUMNS * tokens / report.window_tokens)
        yield f"{padded(shown_line(name, _NAME_COLUMNS), _NAME_COLUMNS)} {tokens:>10,}  {bar}".rstrip() + "\n"
    if report.compacts_at_tokens is not None:
        yield f"\nfrom {report.compacts_at_tokens:,} tokens on the conversation is summarised\n"
    yield from _edit_lines(report.edits)
    if report.prompts:
        yield "\nyour prompts, as `/compact --up-to NUMBER` and `--from NUMBER` count them\n"
        yield from (
            f"{one.number:>4}  {shown_line(one.beginning, 80)}\n" for one in report.prompts[-MAX_PROMPTS:]
        )


def _edit_lines(edits: Sequence[MadeEdit]) -> Iterable[str]:
    if not edits:
        return
    saved = sum(edit.tokens_saved for edit in edits)
    yield f"\n{len(edits)} edits saved about {saved:,} tokens; `/context undo EDIT` takes one back\n"
    left_out = len(edits) - MAX_EDITS
    if left_out > 0:
        yield f"  ({left_out} older ones, `/context --json` has all)\n"
    for edit in edits[-MAX_EDITS:]:
        yield f"  {edit.edit_id[:SHOWN_ID]}  {edit.tokens_saved:>9,}  {_named(edit)}\n"


def _named(edit: MadeEdit) -> str:
    return shown_line(f"{edit.kind}: {edit.what}".rstrip(": "), 100)
