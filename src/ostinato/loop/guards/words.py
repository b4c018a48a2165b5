"""What the model and the user read when a guard triggers: one catalogue, so that tests need not match prose."""

from typing import Final

from ostinato.loop.guards.repeats import Finding, Rule

NOTES: Final[dict[Rule, str]] = {
    "idle": (
        "Your last {count} rounds of calls brought nothing that you did not have: the same calls, the same results. Calling "
        "them again will not change that. Work with what you have, try another way, or say what is in your way."
    ),
    "failing": (
        "Your calls have failed in the same way in {count} rounds in a row. More of the like will fail too: find out why, try "
        "another way, or say what is in your way."
    ),
    "again": (
        "You have made the same call of `{name}` {count} times, with the same result each time; nothing has been changed since. "
        "You have the result already: work with it."
    ),
    "waiting": (
        "You have waited {count} times in a row, and nothing has changed. Look whether what you wait for still runs, or go on "
        "without it."
    ),
}
WHY: Final[dict[Rule, str]] = {
    "idle": "the model went round in a circle: {count} rounds of calls without anything new, `{name}` last",
    "failing": "the model's calls failed in the same way in {count} rounds in a row, `{name}` last",
    "again": "the model made the same call of `{name}` {count} times and got the same answer each time",
    "waiting": "the model has waited {count} times in a row, and nothing changed",
}
HINT: Final = (
    "say more exactly what is to be done, or choose another model; "
    "`features.loopGuard` in the settings can be `note` or `off`"
)


def note(finding: Finding) -> str:
    return NOTES[finding.rule].format(count=finding.count, name=finding.call.name)


def reason(finding: Finding) -> str:
    return WHY[finding.rule].format(count=finding.count, name=finding.call.name)
