"""Data classes, choices and limits as inputs, data as the result. Run: `python examples/tool_types.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

import ostinato
from ostinato.ports import Model


@dataclass
class Line:
    item: str
    count: int = 1


class Receipt(msgspec.Struct):
    number: str
    pieces: int
    shipping: str


@ostinato.tool
def order(
    lines: Annotated[list[Line], "what is wanted"],
    shipping: Literal["slow", "fast"] = "slow",
    discount_percent: Annotated[int, msgspec.Meta(ge=0, le=30)] = 0,
) -> Receipt:
    """Place an order. It cannot be taken back."""
    del discount_percent
    return Receipt("A-1", sum(line.count for line in lines), shipping)


def main(model: str | Model | None = None) -> str:
    result = ostinato.run(
        "Order two pens, fast.", model=model, extra_tools=[order], allowed_tools=["order"], keep_session=False
    )
    return result.text


if __name__ == "__main__":
    print(main())
