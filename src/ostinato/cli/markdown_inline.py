"""The inside of a Markdown line: emphasis, code, links as styled text. Addresses are shown, never hidden behind a word."""

from typing import Final

from markdown_it.token import Token
from rich.style import Style
from rich.text import Text

from ostinato.cli.terminal_text import terminal_text

_STYLES: Final = {
    "strong_open": "bold",
    "em_open": "italic",
    "s_open": "strike",
    "link_open": "underline",
}
_MARKED: Final = frozenset({"strong_open", "strong_close", "em_open", "em_close", "s_open", "s_close"})


def inline_text(token: Token, *, has_colour: bool) -> Text:
    """An `inline` token as text of several lines at most; without colour its marks stay."""
    text = Text()
    styles: list[str] = []
    links: list[tuple[str, int]] = []
    for child in token.children or []:
        if child.type in _STYLES:
            styles.append(_STYLES[child.type])
        elif child.nesting < 0 and styles:
            styles.pop()
        if not has_colour and child.type in _MARKED:
            text.append(child.markup)
        if child.type == "link_open":
            links.append((str(child.attrGet("href") or ""), len(text)))
        elif child.type == "link_close" and links:
            address, start = links.pop()
            text.append(_address(address, text.plain[start:]))
        else:
            text.append(*_leaf(child, styles, has_colour=has_colour))
    return text


def _leaf(child: Token, styles: list[str], *, has_colour: bool) -> tuple[str, Style]:
    content = terminal_text(child.content)
    style = Style.parse(" ".join(styles)) if styles and has_colour else Style.null()
    match child.type:
        case "code_inline" if has_colour:
            return content, style + Style.parse("cyan")
        case "code_inline":
            return f"{child.markup}{content}{child.markup}", style
        case "softbreak" | "hardbreak":
            return "\n", style
        case "image":
            return f"[image: {content}]{_address(str(child.attrGet('src') or ''), '')}", style
        case _:
            return content, style


def _address(address: str, shown: str) -> str:
    """What follows a link's text: nothing if the text is the address already."""
    address = terminal_text(address)
    return f" ({address})" if address and address not in {shown, f"mailto:{shown}"} else ""
