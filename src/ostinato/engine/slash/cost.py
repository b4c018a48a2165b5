"""`/cost`: tokens and dollars of the session by model. What has no known price is said to have none, never called free."""

from collections.abc import Iterable, Mapping

from ostinato.engine.costs import is_cost_known, total_cost_usd
from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.events import ModelCost


async def answer_cost(scene: SlashScene, _arguments: str) -> SlashReply:
    return SlashReply("".join(_lines(scene.costs)))


def _lines(costs: Mapping[str, ModelCost]) -> Iterable[str]:
    if not costs:
        yield "nothing was spent in this session\n"
        return
    for model, cost in costs.items():
        usage = cost.usage
        dollars = "price not known" if cost.cost_usd is None else _dollars(cost.cost_usd)
        yield (
            f"{shown_line(model, 60)}: {usage.input_tokens:,} in, {usage.cache_read_input_tokens:,} read from the cache, "
            f"{usage.cache_creation_input_tokens:,} written to the cache, {usage.output_tokens:,} out; {dollars}\n"
        )
    total = _dollars(total_cost_usd(costs))
    if is_cost_known(costs):
        yield f"total: {total}\n"
    elif any(cost.cost_usd is not None for cost in costs.values()):
        yield f"total: {total}, and what has no known price\n"
    else:
        yield "total: not known\n"


def _dollars(amount: float) -> str:
    return f"${amount:.4f}"
