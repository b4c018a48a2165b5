"""The command that prints a key: when it is run, for whom, and what is said where it gives none."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

import ostinato
from ostinato.engine.assemble import open_engine
from ostinato.engine.fallback_models import open_fallbacks
from ostinato.engine.helper_keys import HelperKeys
from ostinato.engine.key_helper import KeyCommand, ask_command, kept_s
from ostinato.engine.model_access import ModelAccess
from ostinato.engine.options import ALL_SETTING_SOURCES, Options
from ostinato.errors import ConfigurationError
from ostinato.events import Event, Result, Terminal
from ostinato.loop.budget import BudgetLimits
from ostinato.testing import FakeClock, Reply, StrictServer, call, fake_tool, say
from ostinato.testing.wire_turn import HttpError

SECRET = "sk-ant-0123456789abcdef"


class Desk:
    """A home and a project; the command `KEYS` prints its first word on the first run, its second on the second …"""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.runs = folder / "home", folder / "work", folder / "runs"
        for made in (self.home / ".claude", self.home / ".ostinato", self.work / ".git"):
            made.mkdir(parents=True)
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "OSTINATO_MAX_RETRIES": "0"}

    def prints(self, *keys: str, folder: str = "home/.ostinato") -> None:
        listed = " ".join(keys)
        text = (
            f'echo "$OSTINATO_KEY_PROVIDER $PWD" >> {self.runs}; n=$(wc -l < {self.runs}); set -- {listed}; '
        )
        self.helper(text + '[ $n -gt $# ] && n=$#; eval "printf %s \\"\\${$n}\\""', folder=folder)

    def helper(self, text: str, folder: str = "home/.ostinato") -> None:
        path = self.home.parent / folder / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"apiKeyHelper": text}))

    def asked(self) -> list[str]:
        """A line for each run: the provider and the folder."""
        return self.runs.read_text().splitlines() if self.runs.exists() else []

    def options(self, **more: Any) -> dict[str, Any]:
        given: dict[str, Any] = {
            "cwd": self.work,
            "keep_session": False,
            "setting_sources": ALL_SETTING_SOURCES,
            "environment": self.environment,
            "tools": [fake_tool("Look")],
            "permission_mode": "bypassPermissions",
        }
        return {**given, **more}

    async def events(self, **more: Any) -> Sequence[Event]:
        return [event async for event in ostinato.query("go", **self.options(**more))]


def reason(events: Sequence[Event]) -> str:
    ended = events[-1]
    assert isinstance(ended, Terminal)
    return ended.reason


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_without_a_key_the_one_that_the_users_command_prints_is_sent(desk: Desk):
    desk.prints("new")
    with StrictServer(Reply(say("done")), accepts_keys={"new"}) as server:
        desk.environment["ANTHROPIC_BASE_URL"] = server.url
        assert reason(await desk.events()) == "completed"
    assert desk.asked() == [f"anthropic {desk.home / '.ostinato'}"]


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "openai/gpt-4.1"])
async def test_a_refused_key_is_asked_for_anew_on_every_wire(desk: Desk, name: str):
    desk.prints("old", "new")
    with StrictServer(Reply(say("done")), accepts_keys={"new"}) as server:
        desk.environment |= {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": f"{server.url}/v1"}
        assert reason(await desk.events(model=name)) == "completed"
    assert [line.split()[0] for line in desk.asked()] == [name.split("/")[0]] * 2


async def test_a_command_that_prints_the_refused_key_again_is_not_asked_for_ever(desk: Desk):
    desk.prints("old")
    with StrictServer(Reply(say("done")), accepts_keys={"new"}) as server:
        desk.environment["ANTHROPIC_BASE_URL"] = server.url
        assert reason(await desk.events()) == "model_error"
        assert len(server.requests) == 1
    assert len(desk.asked()) == 2


async def test_a_key_is_asked_for_again_when_its_time_is_over(desk: Desk):
    desk.prints("first", "second", "third")
    desk.environment["OSTINATO_API_KEY_HELPER_TTL_MS"] = "0"
    with StrictServer(
        Reply(call("Look", "t1")), Reply(say("done")), accepts_keys={"second", "third"}
    ) as server:
        desk.environment["ANTHROPIC_BASE_URL"] = server.url
        assert reason(await desk.events()) == "completed"
    assert len(desk.asked()) == 3


async def test_a_model_that_takes_over_has_the_commands_key(desk: Desk):
    desk.prints("mine")
    names = ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5")
    with StrictServer(HttpError(529), Reply(say("done")), accepts_keys={"mine"}) as server:
        desk.environment["ANTHROPIC_BASE_URL"] = server.url
        assert reason(await desk.events(model=names[0], fallback_models=names[1:])) == "completed"
    assert len(desk.asked()) == 1


async def test_a_model_that_takes_over_gets_a_new_key_after_a_refusal(desk: Desk):
    keys = Answers("second", ConfigurationError("no key")).keys()
    access = ModelAccess({"ANTHROPIC_API_KEY": "first"}, "anthropic", "first", keys)
    options = Options(cwd=desk.work, model="sonnet", fallback_models=("haiku", "openai/gpt-5"))
    chain = open_fallbacks(
        options, BudgetLimits(), lambda name: access.choose(replace(options, model=name), data_root=None)
    )
    (substitute,) = chain.fallbacks.substitutes
    assert substitute.refresh_auth is not None
    assert await substitute.refresh_auth()
    assert not await substitute.refresh_auth()
    await chain.aclose()


async def test_a_model_that_is_chosen_later_has_the_newest_key(desk: Desk):
    desk.prints("old", "new")
    with StrictServer(Reply(say("done")), accepts_keys={"new"}) as server:
        desk.environment["ANTHROPIC_BASE_URL"] = server.url
        async with open_engine(Options(**desk.options(model="anthropic/claude-sonnet-4-5"))) as engine:
            await engine.set_model("anthropic/claude-haiku-4-5")
            result = [event async for event in engine.submit_message("go")][-1]
    assert isinstance(result, Result)
    assert (result.subtype, len(desk.asked())) == ("success", 2)


async def test_the_key_goes_to_no_other_providers_server(desk: Desk):
    desk.prints("mine")
    with StrictServer(HttpError(529)) as first, StrictServer(Reply(say("done"))) as second:
        desk.environment |= {"ANTHROPIC_BASE_URL": first.url, "OPENAI_BASE_URL": f"{second.url}/v1"}
        events = await desk.events(model="anthropic/claude-sonnet-4-5", fallback_models=("openai/gpt-5",))
        assert reason(events) == "completed"
        assert "mine" not in str(second.requests)
    assert {line.split()[0] for line in desk.asked()} == {"anthropic"}


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        (None, "ANTHROPIC_API_KEY"),
        (None, "OPENAI_API_KEY"),
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("sonnet", "ANTHROPIC_AUTH_TOKEN"),
    ],
)
async def test_where_the_environment_has_a_key_the_command_is_not_run(
    desk: Desk, model: str | None, variable: str
):
    desk.prints("new")
    desk.environment[variable] = "given"
    async with open_engine(Options(**desk.options(model=model))):
        pass
    assert desk.asked() == []


async def test_a_host_that_knows_keys_is_asked_and_not_the_command(desk: Desk):
    async def newest() -> str:
        await anyio.lowlevel.checkpoint()
        return "new"

    desk.prints("theirs")
    desk.environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    async with open_engine(Options(**desk.options(model="sonnet", refresh_api_key=newest))):
        pass
    assert desk.asked() == []


async def test_the_other_tools_command_is_asked_for_its_own_provider_alone(desk: Desk):
    desk.prints("new", folder="home/.claude")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        async with open_engine(Options(**desk.options(model="openai/gpt-5"))):
            pass
    async with open_engine(Options(**desk.options(model="sonnet"))):
        pass
    assert len(desk.asked()) == 1


@pytest.mark.parametrize("folder", ["work/.claude", "work/.ostinato"])
async def test_a_projects_command_is_run_only_where_it_is_trusted(desk: Desk, folder: str):
    desk.prints("new", folder=folder)
    with pytest.raises(ConfigurationError, match="no key is set"):
        async with open_engine(Options(**desk.options())):
            pass
    assert desk.asked() == []
    async with open_engine(Options(**desk.options(trust=True))):
        pass
    assert desk.asked() == [f"anthropic {desk.work}"]


async def test_a_projects_command_whose_file_was_changed_since_is_not_run(tmp_path: Path):
    (tmp_path / "key.sh").write_text("echo key")
    command = KeyCommand("sh key.sh", "settings", tmp_path, {}, {"key.sh": "0" * 64})
    with pytest.raises(ConfigurationError, match=r"key\.sh"):
        await ask_command(command)


WRONG = {
    "it fails": f"echo {SECRET}; exit 3",
    "there is no such program": "no-such-program-here",
    "it prints nothing": f"echo {SECRET} >&2",
    "it prints two lines": f"echo {SECRET}; echo {SECRET}",
    "it prints more words": f"echo Key: {SECRET}",
    "it prints no plain text": f"printf '{SECRET}\\001'",
    "it prints too much": "head -c 100000 /dev/zero | tr '\\0' k",
    "it ends by a signal": f"echo {SECRET}; kill -9 $$",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
async def test_a_command_without_a_key_is_named_with_its_file_and_nothing_that_it_printed(
    desk: Desk, text: str
):
    desk.helper(text)
    with pytest.raises(ConfigurationError) as caught:
        async with open_engine(Options(**desk.options())):
            pass
    said = f"{caught.value.message} {caught.value.hint}"
    assert "settings.json" in said
    assert said.count("apiKeyHelper") == 1  # not once more behind the file
    assert SECRET not in said
    assert "kkkk" not in said


def test_what_looks_like_a_key_in_the_command_itself_is_not_shown():
    assert SECRET not in str(KeyCommand(f"echo {SECRET}", "settings", Path("/"), {}))


@pytest.mark.parametrize("value", ["-1", "soon", "1.5", "9" * 40, "٣"])
def test_a_time_that_is_no_number_is_refused_by_name(value: str):
    with pytest.raises(ConfigurationError, match="TTL_MS"):
        kept_s({"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": value})


def test_our_own_time_wins_over_the_other_tools():
    variables = {"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "1000", "OSTINATO_API_KEY_HELPER_TTL_MS": "2000"}
    assert (kept_s(variables), kept_s({})) == (2.0, 300.0)


class Answers:
    """A command that gives these, in order."""

    def __init__(self, *answers: str | Exception) -> None:
        self.left = list(answers)
        self.told: list[str] = []
        self.clock = FakeClock()

    async def ask(self) -> str:
        await anyio.lowlevel.checkpoint()
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def keys(self) -> HelperKeys:
        return HelperKeys(self.ask, "first", kept_s=10, clock=self.clock, tell=self.told.append)


async def test_an_old_key_stays_in_use_where_there_is_no_new_one_and_the_command_has_its_rest():
    answers = Answers(ConfigurationError("no key"), "third")
    keys = answers.keys()
    for elapsed_s, expected, told in ((9, "first", 0), (1, "first", 1), (5, "first", 1), (5, "third", 1)):
        answers.clock.advance(elapsed_s)
        assert (await keys.current(), len(answers.told)) == (expected, told)


async def test_requests_at_the_same_time_ask_once():
    answers = Answers("second")
    keys = answers.keys()
    answers.clock.advance(10)
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(keys.current)
    assert answers.left == []


async def test_a_refused_key_that_was_replaced_meanwhile_is_not_asked_for():
    answers = Answers("second", ConfigurationError("no key"))
    keys = answers.keys()
    assert await keys.after_refusal("first") == "second"
    assert await keys.after_refusal("first") == "second"
    assert await keys.after_refusal("second") is None
    assert answers.told == ["no key"]
