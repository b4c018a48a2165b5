"""Addresses as people write them: one rule for endpoints, the usual rules for proxies."""

import pytest

from ostinato.errors import ConfigurationError
from ostinato.providers.address import endpoint_url, proxy_for, shown_url


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://h", "http://h/v1/messages"),
        ("http://h/", "http://h/v1/messages"),
        (" http://h ", "http://h/v1/messages"),
        ("http://h/v1", "http://h/v1/messages"),
        ("http://h/v1/", "http://h/v1/messages"),
        ("http://h/v4", "http://h/v4/messages"),
        ("http://h/api/anthropic", "http://h/api/anthropic/v1/messages"),
        ("http://h/v2/team/anthropic", "http://h/v2/team/anthropic/v1/messages"),
        ("http://h/v1?x=1", "http://h/v1/messages?x=1"),
        ("http://h?x=1", "http://h/v1/messages?x=1"),
        ("http://h/v1/messages", "http://h/v1/messages"),
        ("http://h/v1/messages/", "http://h/v1/messages"),
        ("https://h:8080/a%20b/v1beta", "https://h:8080/a%20b/v1beta/messages"),
    ],
)
def test_a_version_stands_exactly_once_in_an_anthropic_address(base: str, expected: str):
    assert endpoint_url(base, "v1/messages", version_is_implied=True) == expected


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://h", "http://h/v1/chat/completions"),
        ("http://h/", "http://h/v1/chat/completions"),
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v4", "http://h/v4/chat/completions"),
        ("http://h/api/openai", "http://h/api/openai/chat/completions"),
        ("http://h/v1beta/openai/", "http://h/v1beta/openai/chat/completions"),
        ("http://h/v1?x=1", "http://h/v1/chat/completions?x=1"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
    ],
)
def test_a_version_stands_exactly_once_in_an_openai_address(base: str, expected: str):
    assert endpoint_url(base, "v1/chat/completions", version_is_implied=False) == expected


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://h", "http://h/v1/responses"),
        ("http://h/v1/", "http://h/v1/responses"),
        ("http://h/v1/responses", "http://h/v1/responses"),
        ("http://h/v1/chat/completions", "http://h/v1/responses"),
        ("http://h/api/openai/chat/completions?x=1", "http://h/api/openai/responses?x=1"),
    ],
)
def test_an_address_of_another_wire_becomes_the_wanted_one(base: str, expected: str):
    assert endpoint_url(base, "v1/responses", version_is_implied=False) == expected


@pytest.mark.parametrize(
    "base",
    ["", "h", "ftp://h", "127.0.0.1:1", "http://", "http://[::1", "http://a b:1", "http://h:x", "http://h:0"],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(base: str):
    with pytest.raises(ConfigurationError):
        endpoint_url(base, "v1/messages", version_is_implied=True)


@pytest.mark.parametrize(
    ("url", "environment", "expected"),
    [
        ("https://h/x", {}, None),
        ("https://h/x", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://h/x", {"https_proxy": "http://low", "HTTPS_PROXY": "http://up"}, "http://low"),
        ("https://h/x", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://h/x", {"ALL_PROXY": "http://p"}, "http://p"),
        ("http://h/x", {"HTTPS_PROXY": "http://p"}, None),
        ("https://h/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h"}, None),
        ("https://h/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, None),
        ("https://a.h.com/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "other, .h.com"}, None),
        ("https://a.h.com/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h.com"}, None),
        ("https://evilh.com/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h.com"}, "http://p"),
        ("https://h.com:8443/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h.com:443"}, "http://p"),
        ("https://h.com:8443/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "h.com:8443"}, None),
        ("https://10.1.2.3/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://[::1]/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "::1"}, None),
        ("https://11.1.2.3/x", {"HTTPS_PROXY": "http://p", "NO_PROXY": "10.0.0.0/8,"}, "http://p"),
    ],
)
def test_the_proxy_is_the_environments(url: str, environment: dict[str, str], expected: str | None):
    assert proxy_for(url, environment) == expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://a:b@h:1/x", "http://…@h:1/x"),
        ("http://a:b@c@h:1/x", "http://…@h:1/x"),
        ("https://h/x@y", "https://h/x@y"),
        ("https://h/x?key=k#f", "https://h/x"),
        ("a:b@h:1", "…@h:1"),
        ("http://[::1]:1/v1", "http://[::1]:1/v1"),
    ],
)
def test_an_address_is_shown_without_what_may_be_a_secret(url: str, shown: str):
    assert shown_url(url) == shown
