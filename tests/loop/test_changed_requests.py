"""A request that was refused for something that its adapter can do without is sent again at once, and costs no retry."""

import pytest
from tests.loop.failing import OVERLOADED, notices, patient_scene

from ostinato.errors import ModelError
from ostinato.loop.retry_policy import MAX_CHANGED_REQUESTS
from ostinato.state import QueryConfig
from ostinato.testing import Fails, Reply, say

REFUSED = ModelError(
    "no `stream_options`", kind="invalid_request", status=400, retry=True, recover="send_changed"
)


@pytest.mark.parametrize("is_unattended", [False, True])
@pytest.mark.parametrize("max_retries", [0, 1, 9])
async def test_it_takes_no_wait_and_no_retry(max_retries: int, *, is_unattended: bool):
    config = QueryConfig(normalise_strictly=True, max_retries=max_retries, is_unattended=is_unattended)
    played = patient_scene(*[Fails(REFUSED)] * 4, Reply(say("here")), config=config)
    events = await played.play()
    assert (played.terminal.reason, played.clock.slept) == ("completed", [])
    assert notices(events, "api_retry") == []
    assert len(played.model.requests) == 5


async def test_what_fails_besides_has_its_own_count():
    config = QueryConfig(normalise_strictly=True, max_retries=2)
    turns = [Fails(REFUSED), Fails(OVERLOADED), Fails(REFUSED), Fails(OVERLOADED), Reply(say("here"))]
    played = patient_scene(*turns, config=config)
    await played.play()
    assert (played.terminal.reason, played.clock.slept) == ("completed", [0.5, 1.0])


async def test_an_adapter_that_never_has_enough_ends_after_its_bound():
    played = patient_scene(*[Fails(REFUSED)] * 50)
    await played.play()
    assert (played.terminal.reason, played.terminal.error_kind) == ("model_error", "invalid_request")
    assert (len(played.model.requests), played.clock.slept) == (1 + MAX_CHANGED_REQUESTS, [])
