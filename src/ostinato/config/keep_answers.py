"""An answer "always" kept: the rules go into the project's local file, and that file stays trusted."""

from collections.abc import Sequence

from ostinato.config.places import LOCAL_FILE, Places
from ostinato.config.save_rule import save_rules
from ostinato.config.trust import NotKept, renew_trust
from ostinato.errors import ConfigurationError


def keep_answers(places: Places, rules: Sequence[str], *, is_first: bool) -> str:
    """Returns what to tell the user; empty when the rules are kept and will count the next time.

    `is_first`: the project supplied nothing when it was looked at, so that a file of ours is all there is to trust.
    """
    try:
        saved = save_rules(places.project_root, rules)
    except ConfigurationError as error:
        return f"the rule holds for this conversation only: {error.message}; {error.hint}"
    kept = renew_trust(places.data_root, places.project_root, saved, is_first=is_first)
    if isinstance(kept, NotKept):
        return f"`{LOCAL_FILE}` has the rule, but it waits for trust the next time: {kept.reason}"
    return ""
