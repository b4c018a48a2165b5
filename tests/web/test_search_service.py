"""A search service is asked as it was set up, and its answer is read in any of the usual forms."""

import json
from typing import Any

import pytest
from tests.web.page_server import PageServer, answer, moved

from ostinato.errors import ConfigurationError, UsageError
from ostinato.web.addresses import allowed_places
from ostinato.web.reader import WebReader
from ostinato.web.search_service import SearchService, hits_in
from ostinato.web_pages import SearchHit, SearchQuery

HIT = SearchHit("https://a.example/", "A", "about a")


@pytest.mark.parametrize(
    "said",
    [
        {"query": "x", "results": [{"url": HIT.url, "title": "A", "content": "about a", "engine": "e"}]},
        {"web": {"results": [{"url": HIT.url, "title": "A", "description": "about a"}]}},
        {"items": [{"link": HIT.url, "title": "A", "snippet": "about a"}]},
        {"organic": [{"link": HIT.url, "title": "A", "snippet": "about a", "position": 1}]},
        {"webPages": {"value": [{"url": HIT.url, "name": "A", "snippet": "about a"}]}},
        [{"href": HIT.url, "title": "A", "body": "about a"}],
        {
            "results": [
                1,
                None,
                {"url": 3},
                {"url": "javascript:x"},
                {"url": HIT.url, "title": "A", "text": "about a"},
            ]
        },
    ],
)
def test_the_usual_forms_of_answers_are_read(said: Any):
    assert hits_in(said) == (HIT,)


@pytest.mark.parametrize(
    "said",
    [
        None,
        3,
        "x",
        ["x"],
        {"a": 1},
        {"results": {"a": 1}},
        {"web": {"web": {"web": {"web": {"web": ["x"]}}}}},
    ],
)
def test_what_holds_no_hits_has_none(said: Any):
    assert hits_in(said) == ()


def service(server: PageServer, path: str = "/s?q={query}&format=json") -> SearchService:
    reader = WebReader(allowed_places([f"127.0.0.1:{server.port}"]), headers={"Authorization": "Bearer k"})
    return SearchService(server.url + path, reader)


async def test_the_words_are_put_in_their_place_and_the_headers_are_sent():
    said = json.dumps({"results": [{"url": HIT.url, "title": "A", "content": "about a"}]}).encode()
    with PageServer({"/s?q=a%20b%26c%2F%C3%BC&format=json": [answer(200, said)]}) as server:
        assert await service(server)(SearchQuery("a b&c/ü")) == (HIT,)
    assert "authorization: bearer k" in server.requests[0].lower()


async def test_what_is_no_answer_of_a_service_is_an_error():
    pages = {
        "/e?q=x": [answer(403)],
        "/h?q=x": [answer(200, b"<html>")],
        "/m?q=x": [moved("https://other.example/")],
    }
    with PageServer(pages) as server:
        for path in ("/e", "/h", "/m", "/404"):
            with pytest.raises(UsageError):
                await service(server, f"{path}?q={{query}}")(SearchQuery("x"))


def test_an_address_without_a_place_for_the_words_is_refused():
    for address in ("https://a.example/", "a.example/{query}"):
        with pytest.raises(ConfigurationError):
            SearchService(address, WebReader())
