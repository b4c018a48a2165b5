"""What a built-in command is: a name, what it does in a few words, and the function that does it."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from ostinato.engine.slash.reply import SlashReply
from ostinato.engine.slash.scene import SlashScene

Answer: TypeAlias = Callable[[SlashScene, str], Awaitable[SlashReply]]
"""From the scene and the arguments to what the program says. Raises OstinatoError for what cannot be done."""


class Builtin(msgspec.Struct, frozen=True):
    """`argument_hint` empty: it takes no arguments."""

    name: str
    description: str
    answer: Answer
    argument_hint: str = ""
    aliases: tuple[str, ...] = ()
