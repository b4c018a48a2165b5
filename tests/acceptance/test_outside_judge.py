"""A judge that nobody here wrote breaks the server and says how the client met it (`scripts/outside-judge` runs all of it)."""

from collections.abc import Iterator

import pytest
from scripts.outside_judge import (
    LASTING,
    PASSING,
    WIRES,
    Fault,
    all_judged,
    failing,
    judge_server,
    random_pairs,
    report_code,
    streaming,
)

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

SOME: tuple[Fault, ...] = (
    failing(429, retry_after=0.6),
    failing(529),
    failing(401),
    *(streaming(kind, 1) for kind in ("disconnect", "truncate", "malformed", "stall")),
    *LASTING[-2:],
)


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    pytest.importorskip("llmock")
    with judge_server() as url:
        yield url


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("wire", WIRES)
async def test_the_judge_finds_no_fault_with_how_single_faults_are_met(judge: str, wire: str):
    found = await all_judged([(wire, (fault,)) for fault in SOME], [judge])
    assert [(one.faults, one.report) for one in found if not one.is_good] == []
    assert report_code(judge) == 0


async def test_nor_with_how_two_of_them_in_a_row_are_met(judge: str):
    found = await all_judged(random_pairs(2, seed=7), [judge])
    assert [(one.faults, one.report) for one in found if not one.is_good] == []
    assert {fault["type"] for one in found for fault in one.faults} <= {fault["type"] for fault in PASSING}
