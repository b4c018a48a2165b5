"""Lines that begin with a slash and a word: for the program, not for the model. A path (`/etc/hosts …`) is no such line."""

import re
from typing import Final

import msgspec

from ostinato.cli.terminal_text import one_line
from ostinato.engine.costs import cost_usd
from ostinato.engine.setting import Setting
from ostinato.messages import Usage

_COMMAND: Final = re.compile(r"/([a-z][a-z-]*)(?:\s.*)?", re.DOTALL | re.IGNORECASE)
_MAX_NAME_CHARACTERS: Final = 40

HELP: Final = """\
/help    this list
/cost    tokens so far, and dollars where the model's prices are known
/status  model, folder, session, permission mode
/exit    leave (also Ctrl-D, or Ctrl-C twice)

Enter sends; Alt-Enter, or a backslash at the end of the line, starts a new line. Ctrl-C interrupts the work and keeps the
conversation. What you type while it works waits for the next prompt.
"""


class SlashReply(msgspec.Struct, frozen=True):
    """What the program says; `is_leaving` ends the conversation."""

    text: str = ""
    is_leaving: bool = False


def slash_reply(line: str, setting: Setting, usage: Usage) -> SlashReply | None:
    """None: the line is for the model. `usage` is the sum over the conversation so far."""
    found = _COMMAND.fullmatch(line)
    if found is None:
        return None
    match found[1].lower():
        case "help":
            return SlashReply(HELP)
        case "exit" | "quit":
            return SlashReply(is_leaving=True)
        case "cost":
            return SlashReply(_cost(setting, usage))
        case "status":
            return SlashReply(_status(setting))
        case name:
            shown = one_line(name, _MAX_NAME_CHARACTERS)
            return SlashReply(
                f"there is no command /{shown}, and nothing was sent; /help lists them "
                "(a space before the slash sends the line to the model)\n"
            )


def _cost(setting: Setting, usage: Usage) -> str:
    read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    tokens = f"{read:,} tokens in, of them {usage.cache_read_input_tokens:,} from the cache; {usage.output_tokens:,} out"
    prices = setting.model.prices
    dollars = "its prices are not known" if prices is None else f"${cost_usd(usage, prices):.4f}"
    return f"{tokens}; {dollars}\n"


def _status(setting: Setting) -> str:
    return (
        f"model    {one_line(setting.model.id, 200)}\n"
        f"folder   {one_line(str(setting.workspace.cwd), 1_000)}\n"
        f"session  {setting.session_id}\n"
        f"mode     {setting.permission_mode}\n"
    )
