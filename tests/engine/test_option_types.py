"""What a caller's own code hands over is refused by name where it is of another kind, and never written down."""

import inspect
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, get_type_hints

import anyio
import pytest

import ostinato
from ostinato.engine.assemble import open_engine
from ostinato.engine.option_types import usable_options
from ostinato.engine.options import Options, QueryOptions
from ostinato.errors import UsageError
from ostinato.testing import Reply, ScriptedModel, say

WRONG: list[tuple[str, Any]] = [
    ("cwd", 5),
    ("cwd", None),
    ("cwd", b"/tmp"),
    ("cwd", "a\0b"),
    ("model", 5),
    ("model", ""),
    ("model", " "),
    ("model", object()),
    ("tools", 5),
    ("tools", ["Bash"]),
    ("tools", "Bash"),
    ("extra_tools", None),
    ("extra_tools", [5]),
    ("system_prompt", 5),
    ("append_system_prompt", None),
    ("can_use_tool", "yes"),
    ("configuration", {}),
    ("allowed_tools", [5]),
    ("allowed_tools", None),
    ("disallowed_tools", 5),
    ("add_dirs", [5]),
    ("add_dirs", 5),
    ("add_dirs", None),
    ("setting_sources", [5]),
    ("trust", "no"),
    ("resume", 5),
    ("session_id", 5),
    ("keep_session", None),
    ("fallback_models", [5]),
    ("refresh_api_key", "key"),
    ("on_notice", None),
    ("environment", {"A": 1}),
    ("environment", ["A=1"]),
    ("models", []),
]


class Unshowable:
    def __repr__(self) -> str:
        raise ValueError("not even this")


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: repr(value)[:20])
async def test_an_option_of_another_kind_is_refused_by_its_name(tmp_path: Path, name: str, value: Any):
    given: dict[str, Any] = {"cwd": tmp_path, "model": ScriptedModel(), name: value}
    with pytest.raises(UsageError, match=name) as refused:
        async with open_engine(Options(**given)):
            pass
    assert refused.value.hint


def test_a_value_that_cannot_even_be_shown_is_named_by_its_kind():
    with pytest.raises(UsageError, match="Unshowable"):
        usable_options(Options(model=Unshowable()))  # pyright: ignore[reportArgumentType] - that is the test


async def test_folders_may_be_given_as_texts(tmp_path: Path):
    (tmp_path / "other").mkdir()
    chosen = Options(
        cwd=str(tmp_path),
        add_dirs=[str(tmp_path / "other")],
        model=ScriptedModel(),
        environment={"HOME": str(tmp_path)},
        setting_sources=("user", "project"),
    )
    async with open_engine(chosen) as engine:
        assert engine.setting.workspace.roots == (tmp_path, tmp_path / "other")


def small(tmp_path: Path, **more: Any) -> Options:
    model = ScriptedModel(Reply(say("one")), Reply(say("two")))
    return Options(cwd=tmp_path, model=model, environment={"HOME": str(tmp_path)}, **more)


async def drained(events: AsyncGenerator[object, None]) -> None:
    async for _ in events:
        pass


@pytest.mark.parametrize("uuid", [5, b"u", "", " ", ["u"], 1.5, True], ids=repr)
async def test_a_uuid_that_is_no_text_is_refused_and_the_session_can_be_resumed(tmp_path: Path, uuid: Any):
    async with open_engine(small(tmp_path)) as engine:
        with pytest.raises(UsageError, match="uuid"):
            await drained(engine.submit_message("go", uuid=uuid))
        with pytest.raises(UsageError, match="uuid"):
            engine.queue.put("go", uuid=uuid)
        await drained(engine.submit_message("go", uuid="mine"))
        with pytest.raises(UsageError, match="mine"):
            await drained(engine.submit_message("go", uuid="mine"))
        session_id = engine.session_id
    async with open_engine(small(tmp_path, resume=session_id)) as engine:
        assert len(engine.get_messages()) == 2
        with pytest.raises(UsageError, match="mine"):
            await drained(engine.submit_message("go", uuid="mine"))


@pytest.mark.parametrize("prompt", [5, None, b"go", ["go"]], ids=repr)
async def test_a_prompt_that_is_no_text_is_refused(tmp_path: Path, prompt: Any):
    async with open_engine(small(tmp_path)) as engine:
        with pytest.raises(UsageError):
            await drained(engine.submit_message(prompt))


@pytest.mark.parametrize("name", [5, None, "", " "], ids=repr)
async def test_a_model_is_not_changed_to_what_is_no_name(tmp_path: Path, name: Any):
    async with open_engine(small(tmp_path)) as engine:
        with pytest.raises(UsageError, match="model"):
            await engine.set_model(name)


async def test_a_closed_engine_changes_nothing(tmp_path: Path):
    async with open_engine(small(tmp_path)) as engine:
        pass
    with pytest.raises(UsageError, match="closed"):
        engine.set_permission_mode("plan")
    with anyio.fail_after(5), pytest.raises(UsageError, match="closed"):
        await engine.set_model("haiku")


@pytest.mark.parametrize("name", [*ostinato.__all__, "QueryOptions"])
def test_every_public_name_can_be_looked_into(name: str):
    thing: Any = QueryOptions if name == "QueryOptions" else getattr(ostinato, name)
    if inspect.isfunction(thing) or inspect.isclass(thing):
        get_type_hints(thing)
        for member in vars(thing).values() if inspect.isclass(thing) else ():
            if inspect.isfunction(member) and member.__module__.startswith("ostinato"):
                get_type_hints(member)
    is_plain_class = isinstance(thing, type) and not any(kind in thing.__mro__ for kind in (Exception, dict))
    if inspect.isfunction(thing) or is_plain_class:
        inspect.signature(thing)
    inspect.getdoc(thing)
