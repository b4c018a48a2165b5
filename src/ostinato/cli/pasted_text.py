"""Long pasted texts while a line is edited: each stands in it as one character, shown as a marker, and is whole again when sent.

The character is the paste itself, not a place in the text: it can be moved, deleted and undone like any other.
"""

from typing import Final

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

MAX_LINES: Final = 9
MAX_CHARACTERS: Final = 1_000
"""A paste longer than either is folded."""

MAX_KEPT: Final = 100
MAX_KEPT_CHARACTERS: Final = 10_000_000
"""Of lines that were sent: one may have been cut out of its line, and come back."""

_FIRST: Final = 0x10_0000
_LAST: Final = 0x10_FFFD
"""The last plane for private use: nobody types or prints these."""


class PastedTexts:
    """The pastes of one conversation."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    def inserted(self, pasted: str) -> str:
        """What stands in the line for a paste: itself if it is short."""
        text = pasted.replace("\r\n", "\n").replace("\r", "\n")
        is_short = text.count("\n") < MAX_LINES and len(text) <= MAX_CHARACTERS
        if is_short and not any(_is_private(one) for one in text):
            return text
        character = chr(_FIRST + self._count % (_LAST - _FIRST + 1))
        self._count += 1
        self._texts[character] = text
        return character

    def forget_old(self, still_edited: str) -> None:
        """A line was sent: the oldest pastes may go, but none that stands in `still_edited`."""
        kept = sum(map(len, self._texts.values()))
        for character in tuple(self._texts):
            if len(self._texts) <= MAX_KEPT and kept <= MAX_KEPT_CHARACTERS:
                return
            if character not in still_edited:
                kept -= len(self._texts.pop(character))

    def expanded(self, line: str) -> str:
        """The line with every paste in its place."""
        return "".join(self._texts.get(one, one) for one in line)

    def marked(self, line: str) -> str:
        """The line as it is shown, with a marker for every paste."""
        return "".join(self.marker(one) or one for one in line)

    def marker(self, character: str) -> str:
        """What is shown for this character; empty if it is no paste."""
        if character not in self._texts:
            return ""
        text = self._texts[character]
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[pasted #{ord(character) - _FIRST + 1}: {size}]"


class PasteMarkers(Processor):
    """Shows the markers, with the cursor where it belongs."""

    def __init__(self, pastes: PastedTexts) -> None:
        self._pastes = pastes

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments: StyleAndTextTuples = []
        starts = [0]
        if not any(_is_private(one) for one in fragment_list_to_text(transformation_input.fragments)):
            return Transformation(transformation_input.fragments)
        for style, text, *_ in explode_text_fragments(transformation_input.fragments):
            marker = self._pastes.marker(text)
            fragments.append(("class:paste", marker) if marker else (style, text))
            starts.append(starts[-1] + len(marker or text))

        def displayed(place: int) -> int:
            return starts[min(place, len(starts) - 1)]

        def source(place: int) -> int:
            return max(at for at, start in enumerate(starts) if start <= max(place, 0))

        return Transformation(fragments, source_to_display=displayed, display_to_source=source)


def _is_private(character: str) -> bool:
    return _FIRST <= ord(character) <= _LAST
