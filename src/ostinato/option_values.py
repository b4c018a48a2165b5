"""The words that options, flags and settings share, each named once. It loads nothing, so that help stays light."""

from typing import Final, Literal, get_args

PermissionMode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]
PERMISSION_MODES: Final[tuple[PermissionMode, ...]] = get_args(PermissionMode)

Effort = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: Final[tuple[Effort, ...]] = get_args(Effort)

ThinkingWish = Literal["off", "on"] | int
"""`on` leaves the amount to the model; a number is a budget in tokens."""
