"""The built-in tools, in one fixed order: it is part of what providers cache."""

from typing import Final

from ostinato.tool import Tool
from ostinato.tools.bash import IsReadOnlyCommand, MayMove, bash_tool, never_moves
from ostinato.tools.edit import edit_tool
from ostinato.tools.equipment import Equipment
from ostinato.tools.glob import glob_tool
from ostinato.tools.grep import grep_tool
from ostinato.tools.multi_edit import multi_edit_tool
from ostinato.tools.notebook_edit import notebook_edit_tool
from ostinato.tools.read import read_tool
from ostinato.tools.switched_off import NO_SEARCH, NOBODY_TO_ASK, switched_off_tool
from ostinato.tools.task_output import task_output_tool
from ostinato.tools.task_stop import task_stop_tool
from ostinato.tools.todo_write import todo_write_tool
from ostinato.tools.web_fetch import web_fetch_tool
from ostinato.tools.write import write_tool

OF_BACKGROUND: Final = frozenset({"TaskOutput", "TaskStop"})
"""Of no use where nothing can be started."""


def builtin_tools(
    *,
    is_read_only_command: IsReadOnlyCommand,
    equipment: Equipment | None = None,
    may_move: MayMove = never_moves,
) -> tuple[Tool, ...]:
    """All of them, sorted by name. `is_read_only_command` must say yes only to what is proven. Without `equipment` those that
    need nothing but a folder. `may_move` says which commands go on in the background when their time is over.
    """
    tools = (
        *_of_a_folder(is_read_only_command, may_move),
        *(() if equipment is None else _of_a_talk(equipment)),
    )
    return tuple(sorted(tools, key=lambda tool: tool.name))


def _of_a_talk(equipment: Equipment) -> tuple[Tool, ...]:
    return (
        _questions(equipment),
        *_snip(equipment),
        todo_write_tool(equipment.todos),
        web_fetch_tool(equipment.web),
        _search(equipment),
    )


def _snip(equipment: Equipment) -> tuple[Tool, ...]:
    if equipment.hideable is None:
        return ()
    from ostinato.tools.snip import snip_tool  # ruff: ignore[import-outside-top-level] - only where it is wanted

    return (snip_tool(equipment.hideable),)


def _questions(equipment: Equipment) -> Tool:
    if equipment.ask_user is None:
        return switched_off_tool("AskUserQuestion", NOBODY_TO_ASK)
    from ostinato.tools.ask_user_question import ask_user_question_tool  # ruff: ignore[import-outside-top-level] - only where somebody can answer

    return ask_user_question_tool(equipment.ask_user)


def _search(equipment: Equipment) -> Tool:
    if equipment.search is None:
        return switched_off_tool("WebSearch", NO_SEARCH)
    from ostinato.tools.web_search import web_search_tool  # ruff: ignore[import-outside-top-level] - only where a service is set up

    return web_search_tool(equipment.search)


def _of_a_folder(is_read_only_command: IsReadOnlyCommand, may_move: MayMove) -> tuple[Tool, ...]:
    return (
        bash_tool(is_read_only_command, may_move),
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
