"""The small model as the one that writes accounts of finished parts, beside the passes of a query."""

from functools import partial
from typing import Final

import msgspec

from ostinato.context_pass import Accounting, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.loop.beside import Beside
from ostinato.loop.deps import Deps, SideModel
from ostinato.loop.ledger import Ledger
from ostinato.loop.side_call import SideCall
from ostinato.loop.summaries import summary_of
from ostinato.messages import Text
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.ports import NO_THINKING, ModelFacts, ModelRequest, QuerySource, QueryTracking, RequestMessage
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
        request = ModelRequest(
            model=self.facts.id,
            system=(wanted.system,),
            messages=(RequestMessage("user", (Text(wanted.prompt),)),),
            tools=(),
            max_output_tokens=min(MAX_OUTPUT_TOKENS, self.facts.max_output_tokens),
            source=SOURCE,
            tracking=QueryTracking(context.tracking.chain_id, context.tracking.depth + 1),
            thinking=NO_THINKING,
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
