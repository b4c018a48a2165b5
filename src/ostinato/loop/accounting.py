"""The small model as the one that writes accounts of finished parts, beside the passes of a query."""

from functools import partial
from typing import Final

import msgspec

from ostinato.context_pass import Accounting, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.loop.beside import Beside
from ostinato.loop.deps import Deps, SideModel
from ostinato.loop.ledger import Ledger
from ostinato.loop.side_call import SideCall, text_request
from ostinato.loop.summaries import summary_of
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.ports import ModelFacts, QuerySource
from ostinato.state import ToolUseContext

SOURCE: Final = QuerySource("collapse")
MAX_OUTPUT_TOKENS: Final = 2_048
"""An account may have a quarter of a part of about 8,000 tokens."""


def accounting(
    context: ToolUseContext, deps: Deps, side: SideModel, ledger: Ledger, beside: Beside
) -> Accounting:
    facts = deps.fallbacks.windows.believed(side.facts)
    return Accounting(_Asked(context, deps, ledger, side, facts), facts.context_window, beside.begin)


class _Asked(msgspec.Struct, frozen=True):
    """Implements `Summarise`."""

    context: ToolUseContext
    deps: Deps
    ledger: Ledger
    side: SideModel
    facts: ModelFacts

    async def __call__(self, wanted: SummaryWanted) -> SummaryReply | SummaryFailed:
        context = self.context
        request = text_request(
            context.tracking,
            SOURCE,
            self.facts,
            system=wanted.system,
            prompt=wanted.prompt,
            max_output_tokens=MAX_OUTPUT_TOKENS,
        )
        ask = SideCall(
            self.deps,
            self.ledger,
            self.side.call_model,
            self.facts,
            context.abort,
            refresh_auth=self.side.refresh_auth,
        )
        return summary_of(await ask(request, partial(whole_request_tokens, request)))
