"""`ostinato local pull`: size and licence before the first byte, progress beside, the path as data."""

from pathlib import Path

import pytest
from tests.cli.command import Desk

from ostinato.cli.local_pull import ProgressLines, description, models_folder, named_source
from ostinato.errors import UsageError
from ostinato.providers.local_models import LOCAL_MODELS, SMOLLM2_135M, PullableModel
from ostinato.providers.local_pull import BytesArrived, SourceGivenUp, SourceStarted, SumVerified
from ostinato.providers.local_sources import LocalFile, Url

MILLION = 1_000_000


@pytest.mark.parametrize("model", LOCAL_MODELS, ids=lambda model: model.name)
def test_size_and_licence_come_first(model: PullableModel):
    told = description(model)
    assert model.licence in told
    assert f"{model.file_bytes / 1e6:,.0f} MB" in told


def lines_of(*, is_terminal: bool) -> str:
    told: list[str] = []
    progress = ProgressLines(told.append, is_terminal=is_terminal)
    source = Url("https://x")
    progress.show(SourceGivenUp(source, "gone"))
    progress.show(SourceStarted(source, 0))
    for done in range(101):
        progress.show(BytesArrived(done * MILLION, 100 * MILLION))
    progress.show(SumVerified("abc"))
    return "".join(told)


def test_without_a_terminal_a_tenth_is_a_line():
    assert lines_of(is_terminal=False).splitlines() == [
        "not from address `https://x`: gone",
        "from address `https://x`",
        *(f"  {done} of 100 MB" for done in range(0, 101, 10)),
        "verified: SHA-256 abc",
    ]


def test_on_a_terminal_a_bar_redraws_itself():
    told = lines_of(is_terminal=True)
    assert told.count("\r") == 101
    assert f"[{'#' * 30}] 100 of 100 MB \nverified" in told


def test_a_source_is_an_address_or_a_file_that_is_there(tmp_path: Path):
    (tmp_path / "y.gguf").write_bytes(b"GGUF")
    assert named_source("https://x/y.gguf") == Url("https://x/y.gguf")
    assert named_source(str(tmp_path / "y.gguf")) == LocalFile(tmp_path / "y.gguf")
    with pytest.raises(UsageError):
        named_source(str(tmp_path / "z.gguf"))


def test_without_a_home_it_is_a_usage_error():
    with pytest.raises(UsageError):
        models_folder({})


@pytest.mark.process
def test_a_file_of_the_wrong_size_is_refused_by_the_command(tmp_path_factory: pytest.TempPathFactory):
    desk = Desk(tmp_path_factory.mktemp("desk"))
    (desk.work / "wrong.gguf").write_bytes(b"GGUF")
    ended = desk.run("local", "pull", SMOLLM2_135M.name, "--from", "wrong.gguf")
    assert (ended.code, ended.out) == (1, b"")
    assert ended.err.startswith(description(SMOLLM2_135M))
    assert "error: " in ended.err
