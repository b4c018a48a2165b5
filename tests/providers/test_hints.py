"""No failure of a model call leaves its reader without something to do."""

import ast
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from tests.providers.requests import facts

from ostinato.errors import ModelError, ModelErrorKind
from ostinato.providers.classify import classify_anthropic_event, classify_openai, classify_openai_event
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.hints import HINTS
from ostinato.providers.verdicts import CODES

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


@pytest.mark.parametrize(
    ("classify", "variable"),
    [(classify_anthropic_event, "ANTHROPIC_API_KEY"), (classify_openai_event, "OPENAI_API_KEY")],
)
@pytest.mark.parametrize("code", [*CODES, "made_up", ""])
def test_an_error_in_the_middle_of_a_reply_has_a_hint_of_its_own_too(
    classify: Callable[..., ModelError], variable: str, code: str
):
    body = json.dumps({"type": code, "message": "no"}).encode()
    error = classify(body, facts("anthropic"), request_id="")
    assert error.hint
    assert (variable in error.hint) == (error.kind == "authentication")


@pytest.mark.parametrize("headers", [{}, {"location": ""}, {"location": " "}])
def test_a_redirect_to_nowhere_names_no_address(headers: dict[str, str]):
    failure = HttpFailure("http://h", 302, headers, b"", datetime(2026, 11, 30, tzinfo=UTC))
    hint = classify_openai(failure, facts("openai")).hint
    assert "``" not in hint
    assert "base URL" in hint


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize(
    ("body", "names_model"),
    [(b'{"error": {"message": "no route here"}}', True), (b"", False), (b"<html>x</html>", False)],
)
def test_a_404_in_words_is_no_silence_and_may_be_about_the_model_or_the_address(
    path: str, body: bytes, *, names_model: bool
):
    failure = HttpFailure(f"http://h{path}", 404, {}, body, datetime(2026, 11, 30, tzinfo=UTC))
    error = classify_openai(failure, facts("openai"))
    assert (f"`{facts('openai').id}`" in error.hint) == names_model
    assert ("nothing answers" in error.hint) != names_model
    assert "base URL" in error.hint
    assert ("no route here" in error.message) == names_model
