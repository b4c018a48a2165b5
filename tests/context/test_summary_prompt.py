"""What is asked for, and what counts as an answer."""

import pytest

from ostinato.context.summary_prompt import summary_in, summary_request

ACCOUNT = "The user wants the build fixed; src/a.py was changed, tests pass."


@pytest.mark.parametrize(
    "reply",
    [
        f"<analysis>long thoughts</analysis>\n<summary>\n{ACCOUNT}\n</summary>",
        f"<analysis>never closed\n<summary>{ACCOUNT}</summary>",
        f"<summary>{ACCOUNT}",
        f"<SUMMARY>{ACCOUNT}</SUMMARY> and more",
    ],
)
def test_the_account_is_found_and_the_thoughts_are_not(reply: str):
    assert summary_in(reply) == ACCOUNT


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "<analysis>only thoughts, and many of them, to no end",
        "I'm sorry, but I can't help with summarising this conversation.",
        f"<analysis>thoughts</analysis>{ACCOUNT}",
        "<summary>short</summary>",
    ],
)
def test_what_is_no_account_is_none(reply: str):
    assert summary_in(reply) is None


def test_the_users_wish_for_the_summary_is_in_the_request_and_no_wish_adds_nothing():
    assert "keep the table of ports" in summary_request("keep the table of ports")
    assert summary_request("  ") == summary_request()
