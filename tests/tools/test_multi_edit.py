"""MultiEdit applies all of its edits in order, or none."""

import pytest
from tests.tools.tool_folder import ToolFolder


def step(old: str, new: str, **more: object) -> dict[str, object]:
    return {"old_string": old, "new_string": new, **more}


async def test_each_edit_sees_what_the_one_before_it_left(folder: ToolFolder):
    folder.put("f", b"\xef\xbb\xbfa\r\nb\r\nb\r\n")
    await folder.call("Read", file_path="f")
    text = await folder.text(
        "MultiEdit",
        file_path="f",
        edits=[step("a", "c\nd"), step("d\nb", "e\nf"), step("b", "g", replace_all=True)],
    )
    assert folder.bytes_of("f") == b"\xef\xbb\xbfc\r\ne\r\nf\r\ng\r\n"
    assert text.count("edited f") == 3


async def test_the_display_is_one_diff_of_all(folder: ToolFolder):
    folder.put("f", "a\nb\n")
    await folder.call("Read", file_path="f")
    outcome = await folder.call("MultiEdit", file_path="f", edits=[step("a", "x"), step("b", "y")])
    assert outcome.display == {"path": "f", "diff": "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n-b\n+x\n+y"}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (step("nowhere", "x"), "edit 2 of 3"),
        (step("b", "b"), "equal"),
        (step("b", "\ud835"), "surrogate"),
        (step("", "x"), "only the first"),
    ],
)
async def test_one_edit_that_does_not_apply_stops_all(folder: ToolFolder, wrong: dict[str, object], why: str):
    folder.put("f", "a b c")
    await folder.call("Read", file_path="f")
    edits = [step("a", "x"), wrong, step("c", "y")]
    assert why in await folder.refused("MultiEdit", file_path="f", edits=edits)


async def test_an_empty_first_text_makes_a_file_that_the_others_change(folder: ToolFolder):
    await folder.text("MultiEdit", file_path="new/f", edits=[step("", "a\r\nb\r\n"), step("b", "c")])
    assert folder.bytes_of("new/f") == b"a\r\nc\r\n"
    assert "exists" in await folder.refused("MultiEdit", file_path="new/f", edits=[step("", "z")])


async def test_a_new_file_whose_edits_do_not_apply_is_not_made(folder: ToolFolder):
    await folder.refused("MultiEdit", file_path="f", edits=[step("", "a"), step("b", "c")])


async def test_the_file_may_be_edited_again_at_once(folder: ToolFolder):
    folder.put("f", "a b")
    await folder.call("Read", file_path="f")
    await folder.text("MultiEdit", file_path="f", edits=[step("a", "c"), step("b", "d")])
    await folder.text("Edit", file_path="f", old_string="c d", new_string="e")
    assert folder.bytes_of("f") == b"e"


def test_no_edits_at_all_is_no_valid_call(folder: ToolFolder):
    assert folder.tool("MultiEdit").validate({"file_path": "f", "edits": []})
