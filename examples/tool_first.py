"""A function as a tool: types are the schema, the docstring is what the model reads. Run: `python examples/tool_first.py`."""

import ostinato
from ostinato.ports import Model

STOCK = {"pen": 12, "ink": 0}


@ostinato.tool(read_only=True)
def stock(item: str) -> int:
    """How many pieces of an item are in stock.

    Args:
        item: The item's name, in the singular.
    """
    return STOCK[item]  # a KeyError becomes an error result that the model reads


def main(model: str | Model | None = None) -> str:
    # Tools of your own are asked for, also those that only read, unless a rule allows them.
    result = ostinato.run(
        "How many pens are left?",
        model=model,
        extra_tools=[stock],
        allowed_tools=["stock"],
        keep_session=False,
    )
    return result.text


if __name__ == "__main__":
    print(main())
