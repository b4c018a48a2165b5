"""What the built-in tools of one conversation work with beside its folder: its list, its person, the web."""

import msgspec

from ostinato.hideable_rounds import HideableRounds
from ostinato.todo_list import TodoList
from ostinato.user_questions import AskUser
from ostinato.web_pages import SearchWeb, Web


class Equipment(msgspec.Struct, frozen=True):
    """`ask_user` None: nobody can be asked. `web` None: no page can be read; `search` None: no search service is set up.
    `hideable` None: the model cannot ask for rounds to be hidden.
    """

    todos: TodoList = msgspec.field(default_factory=TodoList)
    ask_user: AskUser | None = None
    web: Web | None = None
    search: SearchWeb | None = None
    hideable: HideableRounds | None = None

    @property
    def switched_off(self) -> frozenset[str]:
        """The tools that could do nothing but say so: they are not offered."""
        needs = {"AskUserQuestion": self.ask_user, "WebFetch": self.web, "WebSearch": self.search}
        return frozenset(name for name, needed in needs.items() if needed is None)
