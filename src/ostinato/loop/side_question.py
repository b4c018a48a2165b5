"""A tool's question to a small model beside the conversation: one text in, one text out, its cost counted like any other's."""

from functools import partial
from typing import Final

import msgspec

from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.loop.side_call import SideAnswer, SideCall, text_request
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.ports import QuerySource
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
        request = text_request(
            self.context.tracking,
            SOURCE,
            facts,
            system=system,
            prompt=prompt[:room],
            max_output_tokens=MAX_OUTPUT_TOKENS,
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
