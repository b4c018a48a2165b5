"""Asks the tool hooks about the calls of a reply. A hook may add a note or end the query; none can trap or break it."""

from collections.abc import Sequence
from functools import partial

import msgspec

from ostinato.codec import sanitise
from ostinato.loop import results
from ostinato.loop.described import Mask, described
from ostinato.loop.hook_answers import HookAnswer, Raised, Said, answers_within, hook_name
from ostinato.messages import Message, Reminder, attachment_message, notice_message
from ostinato.ports import Clock, Ids
from ostinato.tool_hooks import AfterTool, NoteForModel, StopContinuation, ToolRan

NOTE_SOURCE = "tool_hook"


class ToolHooksSaid(msgspec.Struct, frozen=True):
    """`added`: notes for the model and troubles for the user, in the order of calls and hooks. `stops`: those who end the query."""

    added: tuple[Message, ...] = ()
    stops: tuple[StopContinuation, ...] = ()


NOTHING_SAID = ToolHooksSaid()


async def ask_tool_hooks(
    hooks: Sequence[AfterTool],
    calls: Sequence[ToolRan],
    clock: Clock,
    ids: Ids,
    *,
    timeout_s: float,
    mask: Mask,
) -> ToolHooksSaid:
    """Raises nothing but a real cancellation."""
    pairs = [(hook, ran) for ran in calls for hook in hooks]
    if not pairs:
        return NOTHING_SAID
    answers = await answers_within([partial(hook, ran) for hook, ran in pairs], clock, timeout_s)
    added: list[Message] = []
    stops: list[StopContinuation] = []
    for (hook, ran), answer in zip(pairs, answers, strict=True):
        match answer:
            case Said(None):
                pass
            case Said(StopContinuation() as stop):
                stops.append(stop)
            case Said(NoteForModel(text)) if str(text).strip():
                note = results.cut_error(sanitise(f"After {ran.call.name}: {text}"))
                added.append(attachment_message(ids.uuid(), Reminder(NOTE_SOURCE, note, ran.call.id)))
            case _:
                trouble = f"the tool hook `{hook_name(hook)}` {_trouble(answer, timeout_s, mask)}"
                added.append(notice_message(ids.uuid(), "tool_hook_error", trouble, level="warning"))
    return ToolHooksSaid(tuple(added), tuple(stops))


def _trouble(answer: HookAnswer, timeout_s: float, mask: Mask) -> str:
    match answer:
        case None:
            return f"gave no answer within {timeout_s:g} s"
        case Raised(error):
            return f"failed: {described(error, mask)}"
        case Said(NoteForModel()):
            return "gave an empty note"
        case Said(value):
            return f"answered with {type(value).__name__}, which says nothing"
