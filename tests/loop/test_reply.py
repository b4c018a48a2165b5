"""A reply gathers its blocks while it streams; only a completed call makes the loop go on."""

from ostinato.events import AnyModelEvent, BlockStop, MessageStart, MessageStop
from ostinato.loop.reply import Reply
from ostinato.messages import AssistantBlock, ProviderState, ServerBlock, Text, ToolUse, Usage
from ostinato.testing import CountingIds

SEARCHED = ServerBlock("whole", "s1", "searched the web: bells", ProviderState("p", "m", "{}"), searches=1)
LOOKED = ServerBlock("whole", "s2", "looked at a page", ProviderState("p", "m", "{}"))
CALL = ToolUse("t1", "Look", {"path": "a"})


def taken(*events: AnyModelEvent) -> Reply:
    reply = Reply("m")
    for event in events:
        reply.take(event, CountingIds())
    return reply


def said(*blocks: AssistantBlock) -> list[AnyModelEvent]:
    return [MessageStart("r", "m"), *(BlockStop(index, block) for index, block in enumerate(blocks))]


def test_every_completed_block_is_kept_as_a_message_at_once_and_calls_apart():
    reply = taken(*said(Text("I look"), CALL))
    assert [message.content for message in reply.assistant_messages] == [(Text("I look"),), (CALL,)]
    assert reply.tool_use_blocks == [CALL]


def test_only_a_completed_call_asks_for_a_follow_up():
    assert not taken(MessageStart("r", "m")).needs_follow_up
    assert not taken(*said(Text("done")), MessageStop("tool_use", Usage())).needs_follow_up
    assert taken(*said(CALL)).needs_follow_up
    assert taken(*said(CALL), MessageStop("end_turn", Usage())).needs_follow_up


def test_what_a_reply_that_broke_off_had_searched_is_counted_once_and_a_complete_one_counts_for_itself():
    blocks = said(SEARCHED, LOOKED, SEARCHED, Text("in towers"))
    replies = [taken(*blocks[:end]) for end in range(1, len(blocks) + 1)]
    assert [reply.known_usage(int).web_searches for reply in replies] == [0, 1, 1, 2, 2]
    assert [reply.usage.web_searches for reply in replies] == [0, 1, 1, 2, 2]
    told = MessageStart("r", "m", Usage(5, 0, web_searches=3))
    assert taken(told, *blocks[1:]).known_usage(int).web_searches == 3
    assert taken(*blocks, MessageStop("end_turn", Usage(web_searches=7))).known_usage(int).web_searches == 7
