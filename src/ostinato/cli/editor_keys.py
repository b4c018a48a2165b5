"""The keys of the editor beyond those of every line editor: sending, new lines, pastes, and what acts on running work."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, completion_is_selected, has_completions, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from ostinato.cli.pasted_text import PastedTexts


class Interrupted(Exception):
    """Ctrl-C on an empty line while nothing works, on its way out of the editor."""


class Deeds(Protocol):
    """What a person at the editor can do to the conversation; everything here is done at once."""

    @property
    def is_busy(self) -> bool:
        """Whether a query runs."""
        ...

    def interrupt(self) -> None:
        """End the running query."""
        ...

    def send_now(self, text: str) -> None:
        """End the running query; the text, if there is one, comes next."""
        ...

    def leave_afterwards(self) -> None:
        """End the conversation as soon as nothing works and nothing waits."""
        ...

    def take_back(self) -> str | None:
        """The text that would be sent last of those that wait; it waits no longer."""
        ...

    def suspend(self) -> None:
        """Stop the program until the shell continues it."""
        ...


def editor_keys(deeds: Deeds, pastes: PastedTexts) -> KeyBindings:
    """For the prompt. A key without its condition means what it means in every line editor."""
    keys = KeyBindings()
    is_busy = Condition(lambda: deeds.is_busy)
    is_empty = Condition(lambda: not get_app().current_buffer.text)
    in_line = has_focus(DEFAULT_BUFFER)
    _add_text_keys(keys, pastes)

    @keys.add("c-c", filter=in_line)
    def interrupt(event: KeyPressEvent) -> None:
        if deeds.is_busy:
            deeds.interrupt()
        elif event.current_buffer.text:
            event.current_buffer.reset(append_to_history=True)
        else:
            event.app.exit(exception=Interrupted())

    @keys.add("escape", filter=in_line & is_busy & ~has_completions)
    def send_now(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = pastes.expanded(buffer.text)
        buffer.reset(append_to_history=bool(text.strip()))
        pastes.forget_old(buffer.text)
        deeds.send_now(text)

    @keys.add("up", filter=in_line & is_empty)
    def take_back(event: KeyPressEvent) -> None:
        text = deeds.take_back()
        if text is None:
            event.current_buffer.auto_up()
        else:
            event.current_buffer.insert_text(pastes.inserted(text))

    @keys.add("c-d", filter=in_line & is_empty & is_busy)
    def leave_afterwards(_event: KeyPressEvent) -> None:
        deeds.leave_afterwards()

    @keys.add("c-z")
    def suspend(_event: KeyPressEvent) -> None:
        deeds.suspend()

    return keys


def question_keys(deeds: Deeds, too_early: Callable[[], list[KeyPress] | None]) -> KeyBindings:
    """For a question. While `too_early` gives a list, everything but an interrupt goes there, for the prompt afterwards."""
    keys = KeyBindings()

    @keys.add(Keys.Any, filter=Condition(lambda: too_early() is not None), eager=True)
    def keep(event: KeyPressEvent) -> None:
        kept = too_early()
        if kept is not None:
            kept.extend(event.key_sequence)

    @keys.add("c-c", eager=True)
    def interrupt(event: KeyPressEvent) -> None:
        deeds.interrupt()
        event.app.exit(exception=EOFError())

    @keys.add("c-z", eager=True)
    def suspend(_event: KeyPressEvent) -> None:
        deeds.suspend()

    return keys


def _add_text_keys(keys: KeyBindings, pastes: PastedTexts) -> None:
    in_line = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=in_line & ~completion_is_selected)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        document = buffer.document
        if document.is_cursor_at_the_end_of_line and document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("enter", filter=in_line & completion_is_selected)
    def choose(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("escape", filter=in_line & has_completions)
    def close_menu(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @keys.add("escape", "enter", filter=in_line)
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, filter=in_line)
    def paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.inserted(event.data))
