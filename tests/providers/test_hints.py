"""No failure of a model call leaves its reader without something to do."""

import ast
from pathlib import Path
from typing import get_args

from ostinato.errors import ModelErrorKind
from ostinato.providers.hints import HINTS

PROVIDERS = Path(__file__).parents[2] / "src" / "ostinato" / "providers"
SAID_ELSEWHERE = {
    "authentication",  # names the variable of the provider
    "not_found",  # a model or an address
    "connection",  # no answer to classify
    "stalled",
    "stream_cut",
    "malformed_response",
    "unknown",
}


def test_every_kind_has_a_hint_of_its_own_or_one_where_it_is_made():
    assert set(HINTS) | SAID_ELSEWHERE == set(get_args(ModelErrorKind))
    assert not set(HINTS) & SAID_ELSEWHERE


def test_every_error_that_is_made_here_is_made_with_a_hint():
    bare = [
        f"{path.name}:{call.lineno}"
        for path in sorted(PROVIDERS.glob("*.py"))
        if not path.name.startswith("local")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "ModelError"
        if "hint" not in {keyword.arg for keyword in call.keywords}
    ]
    assert bare == []
