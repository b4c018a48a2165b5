"""An answer "always" kept: the rules go into the project's local file, and that file stays trusted."""

from collections.abc import Mapping, Sequence

from ostinato.config.places import LOCAL_FILE, Places
from ostinato.config.save_rule import save_rules
from ostinato.config.trust import NotKept, renew_trust
from ostinato.errors import ConfigurationError


def keep_answers(places: Places, rules: Sequence[str], inert: Mapping[str, str | None] | None = None) -> str:
    """Returns what to tell the user; empty when the rules are kept and will count the next time.

    `inert`: the digests of all that the project supplies, where nobody was asked to trust it because none of it acts.
    """
    try:
        saved = save_rules(places.project_root, rules)
    except ConfigurationError as error:
        return f"the rule holds for this conversation only: {error.message}; {error.hint}"
    kept = renew_trust(places.data_root, places.project_root, saved, inert=inert)
    if isinstance(kept, NotKept):
        return f"`{LOCAL_FILE}` has the rule, but it waits for trust the next time: {kept.reason}"
    return ""
