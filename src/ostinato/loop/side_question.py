"""A tool's question to a small model beside the conversation: one text in, one text out, its cost counted like any other's."""

from functools import partial
from typing import Final

import msgspec

from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.loop.side_call import SideAnswer, SideCall
from ostinato.messages import Text
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.ports import NO_THINKING, ModelRequest, QuerySource, QueryTracking, RequestMessage
from ostinato.state import ToolUseContext

SOURCE: Final = QuerySource("side_question")
MAX_OUTPUT_TOKENS: Final = 4_096
CHARACTERS_A_TOKEN: Final = 2
"""Fewer than any text has, so that what is cut by it fits."""

MAX_WINDOW_SHARE: Final = 0.7


class SideQuestion(msgspec.Struct, frozen=True):
    """Implements `AskSideModel` for the calls of one response."""

    deps: Deps
    ledger: Ledger
    context: ToolUseContext

    async def __call__(self, system: str, prompt: str) -> str | None:
        """None when there is no answer, whatever the reason: whoever asks goes on without it."""
        side = self.deps.side_model
        if side is None:
            return None
        facts = self.deps.fallbacks.windows.believed(side.facts)
        room = int(facts.context_window * MAX_WINDOW_SHARE) * CHARACTERS_A_TOKEN
        request = ModelRequest(
            model=facts.id,
            system=(system,),
            messages=(RequestMessage("user", (Text(prompt[:room]),)),),
            tools=(),
            max_output_tokens=min(MAX_OUTPUT_TOKENS, facts.max_output_tokens),
            source=SOURCE,
            tracking=QueryTracking(self.context.tracking.chain_id, self.context.tracking.depth + 1),
            thinking=NO_THINKING,
        )
        ask = SideCall(
            self.deps,
            self.ledger,
            side.call_model,
            facts,
            self.context.abort,
            refresh_auth=side.refresh_auth,
        )
        end = await ask(request, partial(whole_request_tokens, request))
        said = end.said if isinstance(end, SideAnswer) else None
        return said.text.strip() or None if said is not None else None
