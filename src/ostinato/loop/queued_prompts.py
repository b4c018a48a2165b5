"""What the user typed while work went on joins the query after a round of tools, in the order it was typed.

A prompt is taken from the queue and is then either recorded or given back, whatever happens in between: it is never lost
and never sent twice.
"""

from collections.abc import Sequence

from ostinato.events import CommandLifecycle
from ostinato.loop.abortable import found_unless_aborted
from ostinato.loop.deps import Deps
from ostinato.messages import AttachmentMessage, Message, QueuedCommand, attachment_message
from ostinato.ports import Abort


async def queued_messages(
    deps: Deps, view: Sequence[Message], added: Sequence[Message], abort: Abort
) -> tuple[Message, ...]:
    """The prompts that wait, each followed by what it mentions; none once aborted. `view` and `added` stand before them. The
    caller records them at once, without waiting for anything before.
    """
    if abort.reason is not None:
        return ()
    prompts = deps.queue.drain()
    messages: list[Message] = []
    try:
        for prompt in prompts:
            before = (*view, *added, *messages)
            messages.append(attachment_message(prompt.uuid, QueuedCommand(prompt.text)))
            messages.extend(await found_unless_aborted(abort, deps.mentions(prompt.text, before)))
    except BaseException:
        deps.queue.give_back(prompts)
        raise
    if prompts and abort.reason is not None:
        deps.queue.give_back(prompts)
        return ()
    return tuple(messages)


def queued_uuids(messages: Sequence[Message]) -> tuple[str, ...]:
    """Which queued prompts are among the messages."""
    return tuple(
        message.uuid
        for message in messages
        if isinstance(message, AttachmentMessage) and isinstance(message.attachment, QueuedCommand)
    )


def started(uuids: Sequence[str]) -> tuple[CommandLifecycle, ...]:
    return tuple(CommandLifecycle(uuid, "started") for uuid in uuids)


def completed(uuids: Sequence[str]) -> tuple[CommandLifecycle, ...]:
    return tuple(CommandLifecycle(uuid, "completed") for uuid in uuids)
