"""What the built-in tools of one conversation work with beside its folder: its list, its person, the web."""

import msgspec

from ostinato.todo_list import TodoList
from ostinato.user_questions import AskUser


class Equipment(msgspec.Struct, frozen=True):
    """`ask_user` None: nobody can be asked."""

    todos: TodoList = msgspec.field(default_factory=TodoList)
    ask_user: AskUser | None = None

    @property
    def switched_off(self) -> frozenset[str]:
        """The tools that could do nothing but say so: they are not offered."""
        return frozenset() if self.ask_user is not None else frozenset({"AskUserQuestion"})
