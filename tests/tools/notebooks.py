"""Notebooks as their own tools write them."""

import json
from typing import Any

INDENT = 1


def code(source: str, **more: Any) -> dict[str, Any]:
    value: dict[str, Any] = {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": []}
    return value | {"source": source.splitlines(keepends=True)} | more


def markdown(source: str, **more: Any) -> dict[str, Any]:
    value: dict[str, Any] = {"cell_type": "markdown", "metadata": {}}
    return value | {"source": source.splitlines(keepends=True)} | more


def notebook(*cells: dict[str, Any], minor: int = 5) -> dict[str, Any]:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": list(cells), "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": minor}


def written(
    value: object, *, indent: int | str | None = INDENT, is_ascii: bool = False, end: str = "\n"
) -> bytes:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii, sort_keys=True) + "\n"
    return text.replace("\n", end).encode()
