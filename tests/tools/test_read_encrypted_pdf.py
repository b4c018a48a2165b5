"""A PDF that is encrypted is read where no password is needed; else what is missing is said."""

import io
from pathlib import Path

import pypdf
import pytest
from tests.tools.pdf_files import pdf
from tests.tools.tool_folder import ToolFolder

from ostinato.sandbox.workspace import LocalWorkspace

pytestmark = pytest.mark.process


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """A child does the work: which loop waits for it makes no difference."""
    return request.param


def encrypted(algorithm: str, *, password: str = "") -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(["Hello one", "Hello two"])))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    into = io.BytesIO()
    writer.write(into)
    return into.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
async def test_what_only_its_owner_may_change_is_read(folder: ToolFolder, algorithm: str):
    folder.put("a.pdf", encrypted(algorithm))
    outcome = await folder.call("Read", file_path="a.pdf", pages="2")
    assert "Hello two" in str(outcome.content)


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
async def test_what_opens_with_a_password_is_refused_with_what_to_do(folder: ToolFolder, algorithm: str):
    folder.put("a.pdf", encrypted(algorithm, password="secret"))
    told = await folder.refused("Read", file_path="a.pdf")
    assert "password" in told
    assert "qpdf" in told


@pytest.mark.parametrize("password", ["", "secret"])
async def test_without_the_library_for_it_how_to_get_it_is_told(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, password: str
):
    elsewhere = tmp_path_factory.mktemp("libraries")
    for name in ("cryptography", "Crypto"):
        (elsewhere / f"{name}.py").write_text("raise ImportError")
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(elsewhere)}
    folder = ToolFolder(tmp_path, LocalWorkspace(tmp_path, (tmp_path,), environment))
    folder.put("a.pdf", encrypted("AES-256", password=password))
    assert "ostinato[media]" in await folder.refused("Read", file_path="a.pdf")
