"""A function becomes a tool: its schema, its result, its end; and what cannot be one is refused where it is written."""

import dataclasses
import enum
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import anyio
import msgspec
import pydantic
import pytest

import ostinato
from ostinato.errors import UsageError
from ostinato.messages import Image, Text
from ostinato.testing import Reply, ScriptedModel, call, say, tool_context
from ostinato.tool import EXCLUSIVE, READS_ANYTHING, Access, Tool, ToolContext, ToolOutcome
from ostinato.tool_from_function import tool
from ostinato.tool_input import InvalidInput, checked_input


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Size(msgspec.Struct):
    width: int
    height: int | None = None


class Order(pydantic.BaseModel):
    item: str
    count: int = pydantic.Field(default=1, ge=1)


class Place(TypedDict):
    name: str


class Tree(pydantic.BaseModel):
    name: str
    children: "list[Tree]" = []


async def ended(made: Tool, /, **given: Any) -> ToolOutcome:
    """The call as the loop makes it."""
    checked = checked_input(made, given)
    assert not isinstance(checked, InvalidInput), checked
    outcome = await made.call(checked, tool_context())
    assert isinstance(outcome, ToolOutcome)
    return outcome


def refused_input(made: Tool, /, **given: Any) -> str:
    checked = checked_input(made, given)
    assert isinstance(checked, InvalidInput), checked
    return checked.message


def properties(made: Tool) -> dict[str, Any]:
    return dict(made.input_schema["properties"])


# ------------------------------------------------------------------------------------------------ the schema


def test_types_defaults_and_descriptions_are_the_schema():
    @tool
    def find(
        text: Annotated[str, "what to look for"],
        limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 10,
        order: Literal["new", "old"] = "new",
        colour: Colour | None = None,
        share: Annotated[float, pydantic.Field(gt=0, description="a part")] = 0.5,
    ) -> str:
        """Search the archive.

        It knows everything before 2020.

        Args:
            limit: how many,
                at most
            order (str): which first
        """
        return f"{text}{limit}{order}{colour}{share}"

    assert (find.name, find.description) == (
        "find",
        "Search the archive.\n\nIt knows everything before 2020.",
    )
    assert find.input_schema["required"] == ["text"]
    assert find.input_schema["additionalProperties"] is False
    assert properties(find) == {
        "text": {"type": "string", "description": "what to look for"},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "description": "how many, at most",
            "default": 10,
        },
        "order": {"type": "string", "enum": ["new", "old"], "description": "which first", "default": "new"},
        "colour": {"type": "string", "enum": ["blue", "red"]},
        "share": {"type": "number", "exclusiveMinimum": 0, "description": "a part", "default": 0.5},
    }


@pytest.mark.parametrize(
    "docstring",
    [
        "Do it.\n\nArgs:\n    name: who\n    other: x\n\nReturns:\n    name: not this",
        "Do it.\n\nParameters\n----------\nname : str\n    who\nother\n    x\n\nReturns\n-------\nstr",
        "Do it.\n\n:param str name: who\n:param other: x\n:returns: it",
        "Do it.\n:param name: wh\n    o\n",
    ],
    ids=["google", "numpy", "sphinx", "sphinx over two lines"],
)
def test_each_style_of_docstring_describes_the_parameters(docstring: str):
    def do(name: str, other: str = "") -> str:
        return name + other

    do.__doc__ = docstring
    made = tool(do)
    assert made.description == "Do it."
    assert properties(made)["name"]["description"].replace(" ", "") == "who"


def test_nested_types_stand_in_place_and_a_type_in_itself_stays_finite():
    @tool
    def put(
        points: list[Point], size: Size, order: Order, place: Place, tree: Tree, table: dict[str, int]
    ) -> str:
        """Put."""
        return f"{points}{size}{order}{place}{tree}{table}"

    schemas = properties(put)
    assert schemas["points"]["items"]["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0},
    }
    assert schemas["size"]["properties"]["height"] == {"type": ["integer", "null"]}
    assert schemas["order"]["properties"]["count"] == {"type": "integer", "minimum": 1, "default": 1}
    assert schemas["place"]["properties"] == {"name": {"type": "string"}}
    assert schemas["tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert set(put.input_schema["$defs"]) == {"Tree"}
    assert schemas["table"] == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_a_property_called_title_is_no_title():
    @tool
    def name(title: str, size: Size | None = None) -> str:
        """Name it."""
        return f"{title}{size}"

    assert properties(name)["title"] == {"type": "string"}
    assert "title" not in properties(name)["size"]


def test_a_small_model_is_offered_the_texts_where_nothing_else_is_needed():
    @tool
    def texts(a: str, b: int = 1) -> str:
        """Texts."""
        return a * b

    @tool
    def numbers(a: str, b: int) -> str:
        """Numbers."""
        return a * b

    assert (texts.flat_parameters, numbers.flat_parameters) == (("a",), ())


# ------------------------------------------------------------------------------------------------ the input


async def test_arguments_arrive_as_the_types_say():
    got: list[object] = []

    @tool
    def take(
        point: Point,
        size: Size,
        order: Order,
        place: Place,
        colour: Colour,
        path: Path,
        numbers: list[int] | None = None,
        tree: Tree | None = None,
    ) -> None:
        """Take."""
        got.extend((point, size, order, place, colour, path, numbers, tree))

    await ended(
        take,
        point={"x": 1},
        size={"width": 2},
        order={"item": "pen"},
        place={"name": "here"},
        colour="blue",
        path="a/b",
        tree={"name": "r", "children": [{"name": "l"}]},
    )
    tree = Tree(name="r", children=[Tree(name="l")])
    assert got == [
        Point(1),
        Size(2),
        Order(item="pen"),
        {"name": "here"},
        Colour.BLUE,
        Path("a/b"),
        None,
        tree,
    ]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "point"),
        ({"point": {"x": "one"}}, "point.x"),
        ({"point": {"x": 1}, "order": {"item": "pen", "count": 0}}, "order"),
        ({"point": {"x": 1}, "share": 7}, "share"),
        ({"point": {"x": 1}, "colour": "green"}, "colour"),
        ({"point": {"x": 1}, "else": 1}, "else"),
    ],
)
def test_what_does_not_fit_is_named_before_the_function_is_called(given: dict[str, Any], named: str):
    @tool
    def take(
        point: Point,
        order: Order | None = None,
        share: Annotated[float, pydantic.Field(le=1)] = 1,
        colour: Colour = Colour.RED,
    ) -> None:
        """Take."""
        raise AssertionError

    message = refused_input(take, **given)
    assert f"`{named}`" in message
    assert "pydantic.dev" not in message


async def test_what_is_written_as_text_without_doubt_is_read_as_what_it_is():
    @tool
    async def double(number: int, times: int | None = None, loud: bool = False) -> int:
        """Double."""
        return number * (times or 2) + loud

    assert (await ended(double, number="20", times=None, loud="true")).content == "41"


# ------------------------------------------------------------------------------------------------ the result


PICTURE = Image("image/png", "aGk=")


@pytest.mark.parametrize(
    ("value", "content", "display"),
    [
        ("text", "text", None),
        (None, "done", None),
        ("", "done", None),
        (PICTURE, (PICTURE,), None),
        ([PICTURE, "and text"], (PICTURE, Text("and text")), None),
        (Point(1, 2), '{"x":1,"y":2}', {"x": 1, "y": 2}),
        (Size(3), '{"width":3,"height":null}', {"width": 3, "height": None}),
        (Order(item="pen"), '{"item":"pen","count":1}', {"item": "pen", "count": 1}),
        ([Point(1)], '[{"x":1,"y":0}]', {"result": [{"x": 1, "y": 0}]}),
        ({"at": Path("a")}, '{"at":"a"}', {"at": "a"}),
        ([], "[]", {"result": []}),
        (3, "3", {"result": 3}),
        (ToolOutcome("own", is_error=True), "own", None),
    ],
    ids=str,
)
async def test_what_a_function_returns_is_the_result(value: object, content: object, display: object):
    @tool
    def give() -> object:
        """Give."""
        return value

    outcome = await ended(give)
    assert (outcome.content, outcome.display) == (content, display)


@pytest.mark.parametrize(
    "value", [b"bytes", object(), [PICTURE, 3], len], ids=["bytes", "object", "mixed", "function"]
)
async def test_what_is_no_result_is_an_error_result_and_the_query_goes_on(value: object, tmp_path: Path):
    @tool
    def give() -> object:
        """Give."""
        return value

    assert "TypeError" in (await played(give, tmp_path)).text


async def test_an_error_in_the_function_is_an_error_result(tmp_path: Path):
    @tool
    def fail() -> str:
        """Fail."""
        raise KeyError("no such order")

    heard = await played(fail, tmp_path)
    assert (heard.is_error, heard.text) == (True, "KeyError: 'no such order'")


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), CancelledError()])
async def test_even_the_end_of_the_program_ends_the_call_only(end: BaseException, tmp_path: Path):
    @tool
    def leave() -> str:
        """Leave."""
        raise end

    assert (await played(leave, tmp_path)).is_error


@dataclasses.dataclass
class Heard:
    text: str
    is_error: bool


async def played(made: Tool, folder: Path, **given: Any) -> Heard:
    """One call of the tool in a whole query: what the model reads of it."""
    model = ScriptedModel(Reply(call(made.name, "t1", **given)), Reply(say("ok")))
    events = [
        event
        async for event in ostinato.query(
            "go",
            model=model,
            cwd=folder,
            keep_session=False,
            extra_tools=[made],
            permission_mode="bypassPermissions",
        )
    ]
    assert any(isinstance(event, ostinato.Terminal) and event.reason == "completed" for event in events)
    (block,) = model.requests[1].messages[-1].content
    return Heard(str(getattr(block, "content", "")), bool(getattr(block, "is_error", False)))


# ------------------------------------------------------------------------------------------------ how it runs


async def test_a_plain_function_runs_in_a_thread_and_may_show_what_it_does():
    shown: list[tuple[str, int]] = []

    @tool
    def work(context: ToolContext, times: int) -> int:
        """Work."""
        for number in range(times):
            context.progress(f"{number}")
        return threading.get_ident()

    context = tool_context(progress=lambda text: shown.append((text, threading.get_ident())))
    outcome = await work.call({"times": 2}, context)
    assert isinstance(outcome, ToolOutcome)
    here = threading.get_ident()
    assert outcome.content != str(here)
    assert shown == [("0", here), ("1", here)]
    assert "context" not in properties(work)


async def test_an_async_function_runs_here_with_the_context_it_asks_for():
    @tool
    async def who(context: ToolContext | None = None) -> list[object]:
        """Who."""
        assert context is not None
        return [context.tool_use_id, threading.get_ident()]

    assert (await who.call({}, tool_context(tool_use_id="t9"))) == ToolOutcome(
        f'["t9",{threading.get_ident()}]', display={"result": ["t9", threading.get_ident()]}
    )


async def test_a_call_that_is_given_up_is_over_at_once_though_its_thread_is_not():
    may_end, started = threading.Event(), anyio.Event()

    @tool
    def hang(context: ToolContext) -> str:
        """Hang."""
        context.progress("begun")
        may_end.wait(30)
        context.progress("nobody reads this")
        return "late"

    try:
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                await hang.call({}, tool_context(progress=lambda _text: started.set()))

            tasks.start_soon(run)
            with anyio.fail_after(10):
                await started.wait()
            tasks.cancel_scope.cancel()
        assert tasks.cancel_scope.cancelled_caught
    finally:
        may_end.set()


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_call_over_its_time_is_told_as_such(*, is_async: bool, tmp_path: Path):
    may_end = threading.Event()

    @tool(timeout_s=0.001)
    async def wait() -> None:
        """Wait."""
        await anyio.sleep_forever()

    @tool(timeout_s=0.001)
    def block() -> str:
        """Wait."""
        may_end.wait(30)
        return ""

    try:
        heard = await played(wait if is_async else block, tmp_path)
    finally:
        may_end.set()
    assert heard.is_error
    assert "longer than 0.001 s" in heard.text


async def test_a_function_that_hands_on_a_coroutine_is_waited_for():
    async def answer() -> str:
        return "awaited"

    def hand_on() -> object:
        """Hand on."""
        return answer()

    assert (await ended(tool(hand_on))).content == "awaited"


class Counter:
    total = 0

    def add(self, number: int) -> int:
        """Add."""
        self.total += number
        return self.total


async def test_a_method_of_an_object_is_a_tool_and_every_tool_can_be_called_as_a_function():
    counter = Counter()
    add = tool(counter.add)
    assert (await ended(add, number=2)).content == "2"
    assert add(3) == 5


# ------------------------------------------------------------------------------------------------ what is said of it


def test_defaults_are_the_careful_ones_and_what_is_said_counts(tmp_path: Path):
    workspace = tool_context(tmp_path).workspace

    @tool
    def plain(path: str) -> str:
        """Plain."""
        return path

    @tool(read_only=True)
    def reads(path: str) -> str:
        """Reads."""
        return path

    @tool(read_only=lambda given: given["path"] == "a", access=Access(reads=(tmp_path,)), interrupt="cancel")
    def depends(path: str) -> str:
        """Depends."""
        return path

    @tool(name="other-name", description="Other words.", max_result_characters=5)
    def named(path: str) -> str:
        return path

    assert (plain.is_read_only({}), plain.access({}, workspace), plain.interrupt_behaviour) == (
        False,
        EXCLUSIVE,
        "block",
    )
    assert (reads.is_read_only({}), reads.access({}, workspace)) == (True, READS_ANYTHING)
    assert (depends.is_read_only({"path": "a"}), depends.is_read_only({"path": "b"})) == (True, False)
    assert (depends.access({"path": "b"}, workspace).reads, depends.interrupt_behaviour) == (
        (tmp_path,),
        "cancel",
    )
    assert (named.name, named.description, named.max_result_characters) == ("other-name", "Other words.", 5)


def without_description(a: str) -> str:
    return a


def without_type(a: str) -> str:
    """Words."""
    return a


del without_type.__annotations__["a"]


def any_number(*a: str) -> str:
    """Words."""
    return str(a)


def any_names(**a: str) -> str:
    """Words."""
    return str(a)


def by_place(a: str, /) -> str:
    """Words."""
    return a


def of_a_type_that_is_no_data(a: Callable[[], None]) -> str:
    """Words."""
    return str(a)


def of_a_type_inside_another(a: list[dict[str, threading.Thread]]) -> str:
    """Words."""
    return str(a)


def of_types_that_look_alike(a: Point | Size) -> str:
    """Words."""
    return str(a)


def of_a_type_that_is_nowhere(a: str) -> str:
    """Words."""
    return a


of_a_type_that_is_nowhere.__annotations__["a"] = "Nowhere"


def of_a_limit_that_fits_no_text(a: Annotated[str, msgspec.Meta(ge=3)]) -> str:
    """Words."""
    return a


def one_after_the_other(a: str) -> Iterator[str]:
    """Words."""
    yield a


def größe(a: str) -> str:
    """Words."""
    return a


@pytest.mark.parametrize(
    "function",
    [
        without_description,
        without_type,
        any_number,
        any_names,
        by_place,
        of_a_type_that_is_no_data,
        of_a_type_inside_another,
        of_types_that_look_alike,
        of_a_type_that_is_nowhere,
        of_a_limit_that_fits_no_text,
        one_after_the_other,
        größe,
        Counter,
        Counter.add,
    ],
    ids=lambda function: function.__qualname__,
)
def test_what_cannot_be_a_tool_is_refused_where_it_is_written(function: Callable[..., Any]):
    with pytest.raises(UsageError) as refused:
        tool(function)
    assert f"`{function.__name__}`" in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    "wrong", [{"timeout_s": 0}, {"timeout_s": -1.0}, {"max_result_characters": 0}, {"name": "a b"}]
)
def test_what_cannot_be_meant_is_refused_too(wrong: dict[str, Any]):
    def do() -> str:
        """Do."""
        return ""

    with pytest.raises(UsageError):
        tool(**wrong)(do)


def test_the_decorator_keeps_its_public_name_whatever_is_imported():
    import ostinato.tool

    assert ostinato.tool is tool
