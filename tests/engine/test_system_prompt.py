"""The system prompt is ours or the caller's, and what the caller appends comes after it."""

from ostinato.engine.prompt import DEFAULT_SYSTEM_PROMPT, system_blocks


def test_what_is_appended_follows_the_prompt_that_is_ours_or_the_callers():
    assert system_blocks(None, "", is_short=False) == (DEFAULT_SYSTEM_PROMPT.strip(),)
    assert system_blocks(None, "Speak French.", is_short=False)[-1] == "Speak French."
    assert system_blocks("Mine.", "More.", is_short=False) == ("Mine.", "More.")
