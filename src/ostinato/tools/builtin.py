"""The built-in tools, in one fixed order: it is part of what providers cache."""

from typing import Final

from ostinato.tool import Tool
from ostinato.tools.ask_user_question import ask_user_question_tool
from ostinato.tools.bash import IsReadOnlyCommand, bash_tool
from ostinato.tools.edit import edit_tool
from ostinato.tools.equipment import Equipment
from ostinato.tools.glob import glob_tool
from ostinato.tools.grep import grep_tool
from ostinato.tools.multi_edit import multi_edit_tool
from ostinato.tools.notebook_edit import notebook_edit_tool
from ostinato.tools.read import read_tool
from ostinato.tools.task_output import task_output_tool
from ostinato.tools.task_stop import task_stop_tool
from ostinato.tools.todo_write import todo_write_tool
from ostinato.tools.web_fetch import web_fetch_tool
from ostinato.tools.web_search import web_search_tool
from ostinato.tools.write import write_tool

OF_BACKGROUND: Final = frozenset({"TaskOutput", "TaskStop"})
"""Of no use where nothing can be started."""


def builtin_tools(
    *, is_read_only_command: IsReadOnlyCommand, equipment: Equipment | None = None
) -> tuple[Tool, ...]:
    """All of them, sorted by name. `is_read_only_command` must say yes only to what is proven. Without `equipment` those that
    need nothing but a folder.
    """
    tools = (*_of_a_folder(is_read_only_command), *(() if equipment is None else _of_a_talk(equipment)))
    return tuple(sorted(tools, key=lambda tool: tool.name))


def _of_a_talk(equipment: Equipment) -> tuple[Tool, ...]:
    return (
        ask_user_question_tool(equipment.ask_user),
        todo_write_tool(equipment.todos),
        web_fetch_tool(equipment.web),
        web_search_tool(equipment.search),
    )


def _of_a_folder(is_read_only_command: IsReadOnlyCommand) -> tuple[Tool, ...]:
    return (
        bash_tool(is_read_only_command),
        edit_tool(),
        glob_tool(),
        grep_tool(),
        multi_edit_tool(),
        notebook_edit_tool(),
        read_tool(),
        task_output_tool(),
        task_stop_tool(),
        write_tool(),
    )
