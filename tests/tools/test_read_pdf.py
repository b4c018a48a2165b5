"""Pages of a PDF come as text blocks; a scan comes as itself; a broken or hostile one is an answer."""

import pytest
from tests.tools.pdf_files import pdf
from tests.tools.tool_folder import ToolFolder

from ostinato.messages import Document, Text
from ostinato.tools.pdf_read import page_range

pytestmark = pytest.mark.process


async def texts(folder: ToolFolder, **given: object) -> list[str]:
    outcome = await folder.call("Read", file_path="a.pdf", **given)
    assert not outcome.is_error, outcome.content
    assert isinstance(outcome.content, tuple)
    return [block.text for block in outcome.content if isinstance(block, Text)]


async def test_each_page_is_a_block(folder: ToolFolder):
    folder.put("a.pdf", pdf(["Hello one", "", "Hello three"]))
    one, two, three = await texts(folder)
    assert one == "[page 1 of 3]\nHello one"
    assert "picture" in two
    assert three.endswith("Hello three")


async def test_pages_are_chosen_and_how_to_go_on_is_said(folder: ToolFolder):
    folder.put("a.pdf", pdf([f"text {number}" for number in range(1, 31)]))
    assert await texts(folder, pages="29-") == ["[page 29 of 30]\ntext 29", "[page 30 of 30]\ntext 30"]
    assert (await texts(folder, pages="2"))[0] == "[page 2 of 30]\ntext 2"
    first = await texts(folder)
    assert len(first) == 21
    assert first[-1] == '[pages 1-20 of 30; go on with pages="21-"]'


async def test_long_pages_are_cut_and_a_result_ends_at_a_whole_page(folder: ToolFolder):
    folder.put("a.pdf", pdf(["x" * 60_000] * 8))
    shown = await texts(folder)
    assert shown[-1] == '[pages 1-5 of 8; go on with pages="6-"]'
    assert all(len(page) < 50_100 for page in shown)


async def test_a_damaged_page_hides_no_other(folder: ToolFolder):
    folder.put("a.pdf", pdf(["one", "two", "three"]).replace(b"(two) Tj", b"(two  Tj"))
    one, two, three = await texts(folder)
    assert (one, three) == ("[page 1 of 3]\none", "[page 3 of 3]\nthree")
    assert "cannot be understood" in two
    assert "cannot be understood" in await folder.refused("Read", file_path="a.pdf", pages="2")


async def test_a_scan_comes_as_the_document(folder: ToolFolder):
    folder.put("a.pdf", pdf(["", ""]))
    outcome = await folder.call("Read", file_path="a.pdf")
    assert isinstance(outcome.content, tuple)
    note, document = outcome.content
    assert isinstance(note, Text)
    assert isinstance(document, Document)
    assert document.media_type == "application/pdf"


@pytest.mark.parametrize(
    ("data", "given", "why"),
    [
        (b"%PDF-1.7 nothing more", {}, "cannot be understood"),
        (pdf(["a"])[:200], {}, "cannot be understood"),
        (pdf(["a", "b"]), {"pages": "3"}, "only 2 pages"),
        (pdf(["a"]), {"pages": "x"}, "range"),
        (pdf(["a"]), {"pages": "5-2"}, "range"),
        (pdf(["a"]), {"pages": "0"}, "range"),
    ],
)
async def test_what_cannot_be_shown_is_refused(
    folder: ToolFolder, data: bytes, given: dict[str, str], why: str
):
    folder.put("a.pdf", data)
    assert why in await folder.refused("Read", file_path="a.pdf", **given)
    assert folder.seen("a.pdf") is None


async def test_nothing_is_imported_from_the_folder_of_the_conversation(folder: ToolFolder):
    folder.put("pypdf.py", "raise SystemExit('taken over')")
    folder.put("json.py", "raise SystemExit('taken over')")
    folder.put("a.pdf", pdf(["Hello"]))
    assert await texts(folder) == ["[page 1 of 1]\nHello"]


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ("", (1, 20)),
        ("3", (3, 3)),
        ("1-5", (1, 5)),
        (" 2 - 4 ", (2, 4)),
        ("10-", (10, 29)),
        ("1-99", (1, 20)),
        ("1,2", None),
    ],
)
def test_a_range_has_at_most_twenty_pages(pages: str, expected: tuple[int, int] | None):
    assert page_range(pages) == expected
