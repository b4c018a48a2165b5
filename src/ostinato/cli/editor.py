"""The prompt of line mode: an editable text that stays below whatever is written above it, also while work goes on.

One text after the other is read and handed on. A question interrupts the editing, not the text: the draft comes back after it,
and what was typed before the question was put, or too soon after it, is no answer to it.
"""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.shortcuts import PromptSession
from prompt_toolkit.styles import Style

from ostinato.cli.editor_keys import Deeds, Interrupted, editor_keys, question_keys
from ostinato.cli.editor_output import EditorOutput, terminal_size
from ostinato.cli.paste_reader import read_pastes_in_one_pass
from ostinato.cli.pasted_text import PastedTexts, PasteMarkers
from ostinato.cli.prompt_line import PROMPT, Gesture, Take, quiet_moment
from ostinato.cli.terminal_outbox import TerminalOutbox
from ostinato.cli.terminal_text import terminal_text

_REDRAW_S: Final = 1 / 15
"""At most so often what is below the text is drawn anew."""

_ESCAPE_S: Final = 0.1
"""So long a lone escape waits for the rest of a key's sequence."""

_STYLE: Final = {"prompt": "", "mark": "bold", "paste": "ansicyan", "completion-menu": "noinherit reverse"}


class _Paused(Exception):
    """A question is to be put: out of the editor, the draft stays."""


class _Asked:
    """A question on its way; `answer` None: left without one. `early` was typed before it `is_open`."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.is_open = False
        self.early: list[KeyPress] = []
        self.is_done = anyio.Event()
        self.answer: str | None = None


class Editor:
    """Implements `PromptLine` on a terminal that can move its cursor. `live` gives the lines above the prompt, cut to columns and
    rows, with our colours in them. `until_read` waits until whoever sees a question may be meant by what is typed."""

    def __init__(
        self,
        outbox: TerminalOutbox,
        deeds: Deeds,
        live: Callable[[int, int], list[str]],
        *,
        history: Callable[[PastedTexts], History],
        completer: Completer | None = None,
        term: str,
        has_colour: bool,
        until_read: Callable[[], Awaitable[None]] = quiet_moment,
    ) -> None:
        self._outbox = outbox
        self._until_read = until_read
        self._live = live
        self._output = EditorOutput(outbox, term)
        self._pastes = PastedTexts()
        self._draft = Document()
        self._live_text: StyleAndTextTuples = []
        self._above = ""
        self._asked: _Asked | None = None
        self._is_leaving = False
        depth = None if has_colour else ColorDepth.DEPTH_1_BIT
        self._session: PromptSession[str] = PromptSession(
            message=[("class:mark", PROMPT)],
            multiline=True,
            history=history(self._pastes),
            key_bindings=editor_keys(deeds, self._pastes),
            prompt_continuation="  ",
            input_processors=[PasteMarkers(self._pastes)],
            completer=completer,
            complete_while_typing=Condition(self._is_completing),
            style=Style.from_dict(dict(_STYLE)),
            color_depth=depth,
            erase_when_done=True,
            output=self._output,
        )
        self._session.app.layout = self._with_live_lines()
        self._question: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            key_bindings=question_keys(deeds, self._too_early),
            color_depth=depth,
            erase_when_done=True,
            output=self._output,
        )
        read_pastes_in_one_pass(self._session.input)
        for app in (self._session.app, self._question.app):
            self._timed(app)

    def _timed(self, app: Application[str]) -> None:
        app.before_render += self._before_drawing
        app.after_render += self._after_drawing
        app.min_redraw_interval = _REDRAW_S
        app.ttimeoutlen = _ESCAPE_S
        app.timeoutlen = _ESCAPE_S * 3

    @property
    def leaves_typed(self) -> bool:
        return False

    @property
    def has_draft(self) -> bool:
        is_open = self._session.app.is_running
        return bool(self._session.default_buffer.text if is_open else self._draft.text)

    @property
    def draft(self) -> str:
        is_open = self._session.app.is_running
        return self._pastes.expanded(self._session.default_buffer.text if is_open else self._draft.text)

    async def run(self, take: Take) -> None:
        try:
            while not self._is_leaving:
                if self._is_asked():
                    await self._answer()
                    continue
                got = await self._read()
                if got is not None:
                    take(got)
                if got is Gesture.END:
                    return
        finally:
            self._is_leaving = True
            if self._asked is not None:
                self._asked.is_done.set()  # nobody is there to answer
            self._bring_out()
            self._output.let_go()

    async def ask(self, prompt: str) -> str | None:
        if self._is_leaving:
            return None
        asked = _Asked(prompt)
        self._asked = asked
        self._leave_with(self._session.app, _Paused())
        try:
            await asked.is_done.wait()
            return asked.answer
        finally:
            self._asked = None
            if not asked.is_done.is_set():
                asked.is_done.set()
                self._leave_with(self._question.app, _Paused())

    def print_above(self, text: str) -> None:
        """With the next drawing, so that a flood of lines costs few of them."""
        self._above += text
        app = self._running()
        if app is None:
            self._bring_out()
        else:
            app.invalidate()

    def refresh(self) -> None:
        app = self._running()
        if app is not None:
            app.invalidate()

    def put_into_draft(self, text: str) -> None:
        inserted = self._pastes.inserted(text)
        if self._session.app.is_running:
            buffer = self._session.default_buffer
            buffer.document = _before(inserted, buffer.document)
        else:
            self._draft = _before(inserted, self._draft)

    def stop_for(self, suspend: Callable[[], None]) -> None:
        app = self._running()
        if app is not None:
            with set_app(app):
                app.renderer.erase()
        self._bring_out()
        self._output.let_go()
        self._outbox.flush()
        suspend()
        if app is not None:
            with set_app(app):
                app.renderer.reset()
                app.invalidate()

    def interrupted(self) -> None:
        """Ctrl-C is a key here: a signal was meant for the query that has just ended."""

    def leave(self) -> None:
        self._is_leaving = True
        for session in (self._session, self._question):
            self._leave_with(session.app, EOFError())

    # -------------------------------------------------------------------------------------------- inside

    async def _read(self) -> str | Gesture | None:
        """None: a question came between."""
        draft, self._draft = self._draft, Document()
        self._pastes.forget_old(draft.text)
        try:
            text = await self._session.prompt_async(
                default=draft, pre_run=self._began, set_exception_handler=False, handle_sigint=False
            )
        except _Paused:
            self._draft = self._session.default_buffer.document
            return None
        except (Interrupted, KeyboardInterrupt):
            return Gesture.INTERRUPT
        except (EOFError, OSError):
            self._draft = self._session.default_buffer.document
            return Gesture.END
        except BaseException:  # the end from outside: what stands there is still asked for
            self._draft = self._session.default_buffer.document
            raise
        return self._pastes.expanded(text)

    def _is_asked(self) -> bool:
        return self._asked is not None and not self._asked.is_done.is_set()

    def _began(self) -> None:
        """Whoever wanted the editor to end in the moment before found one that had just ended by itself."""
        if self._is_leaving:
            self._leave_with(self._session.app, EOFError())
        elif self._is_asked():
            self._leave_with(self._session.app, _Paused())

    def _question_began(self) -> None:
        if self._is_leaving or not self._is_asked():
            self._leave_with(self._question.app, _Paused())
        else:
            self._question.app.create_background_task(self._opened())

    async def _opened(self) -> None:
        """Its words stand there by now; the place for the answer appears when one is taken."""
        await self._until_read()
        if self._asked is not None:
            self._asked.is_open = True
            self._question.app.invalidate()

    def _too_early(self) -> list[KeyPress] | None:
        """Where a key goes that cannot be meant for the question; None when it can."""
        asked = self._asked
        return None if asked is None or asked.is_open else asked.early

    async def _answer(self) -> None:
        asked = self._asked
        if asked is None:
            return
        before = self._typed_before()
        try:
            asked.answer = await self._question.prompt_async(
                lambda: asked.prompt if asked.is_open else "",
                pre_run=self._question_began,
                set_exception_handler=False,
                handle_sigint=False,
            )
            self.print_above(f"{asked.prompt}{terminal_text(asked.answer)}\n")
        except (_Paused, EOFError, OSError, KeyboardInterrupt):
            asked.answer = None
        finally:
            after = get_typeahead(self._session.input)
            store_typeahead(self._session.input, before + asked.early + after)
            asked.is_done.set()

    def _typed_before(self) -> list[KeyPress]:
        """Everything typed so far that the editor has not seen yet."""
        source = self._session.input
        return [*get_typeahead(source), *source.read_keys(), *source.flush_keys()]

    def _with_live_lines(self) -> Layout:
        """The prompt with the live lines above it, which are looked at once for every drawing."""
        live = Window(FormattedTextControl(lambda: self._live_text), dont_extend_height=True)
        return Layout(HSplit([live, self._session.layout.container]), self._session.default_buffer)

    def _before_drawing(self, app: Application[Any]) -> None:
        """What stays goes out together with what is drawn below it."""
        self._outbox.begin_batch()
        if self._above:
            app.renderer.erase()
            self._bring_out()
        self._look()

    def _after_drawing(self, _app: Application[Any]) -> None:
        self._outbox.end_batch()

    def _bring_out(self) -> None:
        above, self._above = self._above, ""
        self._outbox.put(above)

    def _look(self) -> None:
        size = terminal_size()
        self._live_text = to_formatted_text(ANSI("\n".join(self._live(size.columns, size.lines))))

    def _is_completing(self) -> bool:
        """Whether the menu may open by itself: it takes room."""
        before = self._session.default_buffer.document.text_before_cursor
        word = before.split()[-1] if before and not before[-1].isspace() else ""
        return word.startswith("@") or (before.startswith("/") and word == before)

    def _running(self) -> Application[Any] | None:
        for session in (self._session, self._question):
            if session.app.is_running:
                return session.app
        return None

    def _leave_with(self, app: Application[Any], exception: Exception) -> None:
        if app.is_running:
            with contextlib.suppress(Exception):  # it ended by itself in the same moment
                app.exit(exception=exception)


def _before(text: str, document: Document) -> Document:
    joined = f"{text}\n{document.text}" if document.text else text
    return Document(joined, len(joined) - len(document.text) + document.cursor_position)
