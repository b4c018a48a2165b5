"""`@tool`: a Python function as a tool. Its types are the schema, its docstring the description, what it returns the result.

Everything is checked where the decorator stands: a tool that was made can be called. Defaults are the careful ones.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import anyio
import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.docstring_parts import docstring_parts
from ostinato.errors import UsageError
from ostinato.function_parameters import Parameters, parameters_of
from ostinato.invariants import tool_problems
from ostinato.returned_value import outcome_of
from ostinato.told_from_threads import told_from_threads
from ostinato.tool import (
    DEFAULT_MAX_RESULT_CHARACTERS,
    EXCLUSIVE,
    READS_ANYTHING,
    Access,
    InterruptBehaviour,
    ReadAccess,
    Tool,
    ToolContext,
    ToolOutcome,
)
from ostinato.tool_names import fitting_names

P = ParamSpec("P")
R = TypeVar("R")

IsReadOnly = Callable[[Mapping[str, Any]], bool]


class FunctionTool(Tool, Generic[P, R], frozen=True, kw_only=True):
    """A tool that can also be called like the function that it was made of."""

    function: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool | IsReadOnly = False,
    access: Access | ReadAccess | None = None,
    timeout_s: float | None = None,
    interrupt: InterruptBehaviour = "block",
    max_result_characters: int = DEFAULT_MAX_RESULT_CHARACTERS,
    always_load: bool = False,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool | IsReadOnly = False,
    access: Access | ReadAccess | None = None,
    timeout_s: float | None = None,
    interrupt: InterruptBehaviour = "block",
    max_result_characters: int = DEFAULT_MAX_RESULT_CHARACTERS,
    always_load: bool = False,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function, as `@tool` or `@tool(read_only=True)`. An async function runs as it is, any other in a thread.

    `read_only` and `access` may depend on the input. Without `access`, a tool that only reads runs beside everything else,
    and one that does not runs alone. `timeout_s` ends the call with an error (default: the engine's limit). `always_load`: its
    schema is sent with every request, however many tools there are. Raises UsageError for a function that cannot
    be a tool, and says what to change.
    """
    manner = _Manner(read_only, access, timeout_s, interrupt, max_result_characters, always_load)

    def made(function: Callable[P, R]) -> FunctionTool[P, R]:
        return _made(function, name, description, manner)

    return made if function is None else made(function)


class _Manner(msgspec.Struct, frozen=True):
    read_only: bool | IsReadOnly
    access: Access | ReadAccess | None
    timeout_s: float | None
    interrupt: InterruptBehaviour
    max_result_characters: int
    always_load: bool


def _made(
    function: Callable[P, R], name: str | None, description: str | None, manner: _Manner
) -> FunctionTool[P, R]:
    if not callable(function):
        raise UsageError(
            f"`@tool` was put on {type(cast('object', function)).__name__}", hint="put it on a function"
        )
    name = name or str(getattr(function, "__name__", ""))
    _check(function, name, manner)
    said = docstring_parts(inspect.getdoc(function) if inspect.isroutine(function) else None)
    words = said.description if description is None else inspect.cleandoc(description)
    if not words.strip():
        raise UsageError(
            f"the tool `{name}` has no description",
            hint="write a docstring that says what it does and when to use it, or give `description=`",
        )
    parameters = parameters_of(function, name, said.parameters)
    read_only = manner.read_only
    made = FunctionTool[P, R](
        name=name,
        description=words,
        input_schema=parameters.schema,
        call=_Call(function, parameters),
        validate=parameters.problem,
        access=_access(manner),
        is_read_only=read_only if callable(read_only) else lambda _input: read_only,
        interrupt_behaviour=manner.interrupt,
        timeout_s=manner.timeout_s,
        max_result_characters=manner.max_result_characters,
        always_load=manner.always_load,
        flat_parameters=_flat(parameters.schema),
        function=function,
    )
    problems = tool_problems((made,))
    if problems:
        raise UsageError(problems[0], hint=f"`@tool(name={fitting_names([name])[0]!r})` would be taken")
    return made


def _check(function: Callable[..., Any], name: str, manner: _Manner) -> None:
    if not name:
        raise UsageError(
            "a function without a name cannot be a tool", hint="give it one with `@tool(name=…)`"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(
            f"the tool `{name}` is a generator, but a call has one result",
            hint="return the result, and show what happens on the way with `context.progress(text)`",
        )
    if inspect.isclass(function):
        raise UsageError(f"the tool `{name}` is a class", hint="put `@tool` on a function")
    if manner.timeout_s is not None and not manner.timeout_s > 0:
        raise UsageError(
            f"`timeout_s` of the tool `{name}` is {manner.timeout_s!r}", hint="it takes seconds, more than 0"
        )
    if not manner.max_result_characters > 0:
        raise UsageError(
            f"`max_result_characters` of the tool `{name}` is {manner.max_result_characters!r}",
            hint="it takes a number above 0",
        )


def _access(manner: _Manner) -> ReadAccess:
    given = manner.access
    if isinstance(given, Access):
        return lambda _input, _workspace: given
    if given is not None:
        return given
    read_only = manner.read_only
    if callable(read_only):
        return lambda call_input, _workspace: READS_ANYTHING if read_only(call_input) else EXCLUSIVE
    careful = READS_ANYTHING if read_only else EXCLUSIVE
    return lambda _input, _workspace: careful


def _flat(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What a small model is offered: the texts, if nothing else must be given."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    flat = tuple(name for name, one in properties.items() if one.get("type") == "string")
    return flat if set(schema["required"]) <= set(flat) else ()


class _Call:
    """Implements `CallTool`."""

    def __init__(self, function: Callable[..., Any], parameters: Parameters) -> None:
        self._function = function
        self._parameters = parameters
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # ruff: ignore[unreliable-callable-check] - whether its call is async, not whether there is one
        )

    async def __call__(self, call_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        arguments = self._parameters.arguments(call_input)
        return outcome_of(await self._returned(arguments, context))

    async def _returned(self, arguments: dict[str, Any], context: ToolContext) -> object:
        if self._is_async:
            call = cast("Callable[..., Awaitable[object]]", self._function)
            return await call(**self._with_context(arguments, context))
        threaded = replace(context, progress=told_from_threads(context.progress))
        work = _InThread(partial(self._function, **self._with_context(arguments, threaded)))
        context.cannot_be_stopped(work.ended)
        (returned,) = await work.returned()
        return await cast("Awaitable[object]", returned) if inspect.isawaitable(returned) else returned

    def _with_context(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        name = self._parameters.context_name
        return arguments if name is None else {**arguments, name: context}


class _InThread:
    """A function in a thread, which nobody can stop. `ended` is set once it has returned, also long after its call is over.

    Thread and event loop each say first what they did and look then what the other did, so that one of them sees both.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        self.ended = anyio.Event()
        self._tell_ended = told_from_threads(self.ended.set)
        self._function = function
        self._has_begun = False
        self._is_over = False
        self._is_left = False

    async def returned(self) -> tuple[object]:
        """Wrapped: a function that hands on a coroutine would be refused by one of the event loops."""
        try:
            # A limiter of its own: how many calls run at once is bounded elsewhere, and a call that was given up must take
            # no thread from the engine's own work.
            return await to_thread.run_sync(
                self._run, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
        finally:
            self._is_left = True
            if self._is_over or not self._has_begun:
                self.ended.set()

    def _run(self) -> tuple[object]:
        self._has_begun = True
        if self._is_left:  # nobody waits for it any more, and it was said not to have begun
            return (None,)
        try:
            return (self._function(),)
        except (KeyboardInterrupt, GeneratorExit) as error:
            # In a thread nobody pressed a key: it is a failure like any other.
            raise RuntimeError(f"it was ended by {type(error).__name__}") from error
        finally:
            self._is_over = True
            if self._is_left:
                self._tell_ended()
