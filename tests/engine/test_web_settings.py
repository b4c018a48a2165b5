"""The web and the small model of settings: what counts, what waits for trust, and where headers go."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.web.page_server import PageServer, answer

from ostinato.config.places import Places
from ostinato.config.show import show_text
from ostinato.config.trust import Kept, record_trust
from ostinato.engine.assemble import open_engine
from ostinato.engine.configuration import Configuration, InEffect, given_variables, in_effect
from ostinato.engine.found_settings import FoundSettings, find_settings
from ostinato.engine.options import Options
from ostinato.errors import ConfigurationError
from ostinato.testing import Reply, ScriptedModel, call, say

SEARCH = "https://searx.example/?q={query}"
OTHER = "https://other.example/?q={query}"
ALL = frozenset({"local", "project", "user"})


class Scene:
    """A machine, a home and a project, each with its settings."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.machine = folder / "home", folder / "work", folder / "machine"
        for made in (self.home, self.work, self.machine):
            made.mkdir()
        self.environment = {"HOME": str(self.home)}
        self.places = Places(self.work, self.home / ".ostinato", None, (self.machine,))
        self.files = {
            "managed": self.machine / "managed-settings.json",
            "local": self.work / ".ostinato/settings.local.json",
            "project": self.work / ".ostinato/settings.json",
            "user": self.home / ".ostinato/settings.json",
        }

    def write(self, level: str, settings: Mapping[str, object]) -> None:
        self.files[level].parent.mkdir(exist_ok=True)
        self.files[level].write_text(json.dumps(settings))

    def options(self, **given: Any) -> Options:
        return Options(cwd=self.work, environment=self.environment, **given)

    def found(self, options: Options) -> FoundSettings:
        return find_settings(options, self.places, ALL, given_variables(self.environment))

    def effect(self, **given: Any) -> InEffect:
        options = self.options(**given)
        return in_effect(options, Configuration(self.places, self.home, ALL, self.found(options)))

    def trust(self) -> None:
        things = self.found(self.options()).things
        assert record_trust(self.places.data_root, self.work, things) == Kept()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def web(**parts: Any) -> dict[str, Any]:
    """Settings of the web, and a small model."""
    return {"web": parts, "smallModel": "small"}


EVERYTHING = web(privateHosts=["localhost:8000"], search={"url": SEARCH, "headers": {"X-Key": "k"}})


@pytest.mark.parametrize("level", ["managed", "user", "project", "local"])
def test_all_that_tools_need_of_the_web_can_be_set_in_a_file(scene: Scene, level: str):
    scene.write(level, EVERYTHING)
    scene.trust()
    options = scene.effect().options
    assert (options.small_model, options.web_private_hosts) == ("small", ("localhost:8000",))
    assert (options.web_search, options.web_search_headers) == (SEARCH, {"X-Key": "k"})


@pytest.mark.parametrize("level", ["project", "local"])
def test_of_an_untrusted_project_no_place_no_service_and_no_model_counts(scene: Scene, level: str):
    scene.write(level, EVERYTHING)
    effect = scene.effect()
    options = effect.options
    assert (options.small_model, options.web_private_hosts, options.web_search) == (None, (), None)
    assert options.web_search_headers == {}
    assert any("models and addresses" in notice and "web." in notice for notice in effect.notices)


GIVEN: dict[str, Any] = {"small_model": "mine", "web_private_hosts": ["mine"], "web_search": OTHER}


def test_what_is_given_wins_over_files_and_the_machines_settings_over_that(scene: Scene):
    scene.write("user", EVERYTHING)
    options = scene.effect(**GIVEN).options
    assert (options.small_model, options.web_private_hosts, options.web_search) == ("mine", ("mine",), OTHER)
    assert options.web_search_headers == {}
    scene.write("managed", web(privateHosts=[], search={"url": SEARCH}))
    options = scene.effect(**GIVEN).options
    assert (options.small_model, options.web_private_hosts, options.web_search) == ("small", (), SEARCH)
    assert options.web_search_headers == {}


def test_a_variable_wins_over_files_and_yields_to_what_is_given(scene: Scene):
    scene.write("user", EVERYTHING)
    scene.environment |= {"OSTINATO_SMALL_MODEL": "by variable", "OSTINATO_WEB_SEARCH_URL": OTHER}
    options = scene.effect().options
    assert (options.small_model, options.web_search) == ("by variable", OTHER)
    assert scene.effect(small_model="mine").options.small_model == "mine"


def test_places_of_two_files_do_not_add_up(scene: Scene):
    scene.write("user", web(privateHosts=["a"]))
    scene.write("project", web(privateHosts=["b"]))
    scene.trust()
    assert scene.effect().options.web_private_hosts == ("b",)


@pytest.mark.parametrize("level", ["managed", "user", "project", "local"])
@pytest.mark.parametrize("of_headers", ["managed", "user", "project", "local", "variable", "option"])
def test_headers_go_to_no_other_address_than_the_one_beside_them(scene: Scene, level: str, of_headers: str):
    key, given = {"X-Key": "secret"}, {}
    scene.write(level, web(search={"url": SEARCH}))
    if of_headers == "variable":
        scene.environment["OSTINATO_WEB_SEARCH_HEADERS"] = "X-Key: secret"
    elif of_headers == "option":
        given["web_search_headers"] = key
    else:
        address = {"url": SEARCH} if of_headers == level else {}
        scene.write(of_headers, web(search={**address, "headers": key}))
    scene.trust()
    options = scene.effect(**given).options
    assert options.web_search == SEARCH
    assert options.web_search_headers == (key if of_headers == level else {})
    assert "OSTINATO_WEB_SEARCH_HEADERS" not in (options.environment or {})


async def test_a_key_in_a_variable_reaches_the_service_and_stands_in_no_file(tmp_path: Path):
    said = b'{"results":[{"url":"https://a.example/","title":"A"}]}'
    with PageServer({"/s?q=pens": [answer(200, said)]}) as server:
        model = ScriptedModel(Reply(call("WebSearch", "t1", query="pens")), Reply(say("ok")))
        search = {"url": f"{server.url}/s?q={{query}}", "headers": {"X-Key": "Bearer ${MY_KEY}"}}
        options = Options(
            cwd=tmp_path,
            model=model,
            allowed_tools=["WebSearch"],
            settings={"web": {"search": search}},
            environment={"HOME": str(tmp_path), "MY_KEY": "k"},
            keep_session=False,
        )
        async with open_engine(options) as engine:
            async for _ in engine.submit_message("go"):
                pass
    assert "x-key: bearer k" in server.requests[0].lower()


FAULTS: list[dict[str, Any]] = [
    web(privateHosts=["http://a", "localhost"]),
    web(search={"url": "https://a.example/"}),
    web(search={"url": SEARCH, "headers": {"X-Key": "${NOT_THERE}"}}),
    web(search={"url": SEARCH, "headers": {"X-Key": "a\nb: c"}}),
    web(search={"url": SEARCH, "headers": {"X Key": "a"}}),
    web(search={"url": SEARCH, "headers": {"X-Key": "ä"}}),
    web(search={"adress": SEARCH}),
    web(privateHosts="localhost"),
    {"smallModel": 3},
    {"web": []},
]


@pytest.mark.parametrize("settings", FAULTS)
def test_a_fault_is_named_and_stops_nothing(scene: Scene, settings: Mapping[str, object]):
    scene.write("user", settings)
    effect = scene.effect()
    assert len(effect.notices) == 1
    assert str(scene.files["user"]) in effect.notices[0]
    assert effect.options.web_search_headers == {}
    assert "http://a" not in effect.options.web_private_hosts


def test_a_wrong_address_that_was_given_is_an_error_and_no_fault_of_a_file(scene: Scene):
    scene.write("user", EVERYTHING)
    assert scene.effect(web_search="nowhere").options.web_search == "nowhere"


async def test_the_engine_refuses_the_wrong_address_that_was_given(tmp_path: Path):
    settings = {"smallModel": "x"}
    options = Options(
        cwd=tmp_path, model=ScriptedModel(), settings=settings, web_search="nowhere", environment={}
    )
    with pytest.raises(ConfigurationError):
        async with open_engine(options):
            pass


def test_each_is_shown_with_where_it_comes_from_and_what_it_beat_and_no_key(scene: Scene):
    scene.write("user", EVERYTHING)
    scene.write("managed", web(privateHosts=["10.0.0.0/8"]))
    scene.environment["OSTINATO_WEB_SEARCH_URL"] = OTHER
    effective = scene.found(scene.options()).effective()
    lines = show_text(effective, with_origin=True).splitlines()
    [hosts] = [line for line in lines if line.startswith("web.privateHosts")]
    [url] = [line for line in lines if line.startswith("web.search.url")]
    [header] = [line for line in lines if line.startswith("web.search.headers")]
    assert "10.0.0.0/8" in hosts
    assert "managed" in hosts
    assert str(scene.files["user"]) in hosts
    assert OTHER in url
    assert "OSTINATO_WEB_SEARCH_URL" in url
    assert '"k"' not in header
