"""What a child may know, and that it has nobody to ask."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ostinato.sandbox.environment import UNATTENDED, child_environment


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "CLIENT_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "my_api_key",
    ],
)
def test_secrets_do_not_reach_children(name: str):
    assert name not in child_environment({name: "s", "PATH": "/bin"})


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "CI", "NO_COLOR", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK"]
)
def test_what_commands_need_is_kept_as_it_is(name: str):
    assert child_environment({name: "value"})[name] == "value"


def test_what_was_not_there_is_not_invented():
    assert not {"CI", "NO_COLOR", "PATH"} & set(child_environment({}))


OVERRULED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GH_PAGER": "cat",
    "AWS_PAGER": "cat",
    "BAT_PAGER": "cat",
    "DELTA_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBCONF_NONINTERACTIVE_SEEN": "true",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_MODE": "l",
    "PIP_NO_INPUT": "1",
    "GH_PROMPT_DISABLED": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "TERM": "dumb",
}
"""By name and value, so that leaving one out is seen."""


def test_pagers_prompts_and_editors_of_the_host_are_overruled():
    host = dict.fromkeys(OVERRULED, "what the host says")
    assert OVERRULED.items() <= child_environment(host).items()
    assert OVERRULED.items() <= child_environment({}).items()
    assert OVERRULED == UNATTENDED


@pytest.mark.process
@pytest.mark.parametrize(
    ("program", "script", "said"),
    [
        ("git", "printf 'protocol=https\nhost=h\n\n' | git credential fill", "password=\n"),
        ("ssh-keygen", "ssh-keygen -q -t ed25519 -N secret -f key && ssh-keygen -y -f key", "passphrase"),
        ("pip", "pip uninstall asked-for", "No input was expected"),
    ],
)
def test_programs_do_not_ask_and_open_no_window_that_does(
    tmp_path: Path, program: str, script: str, said: str
):
    """The host is a desktop: it has a program that asks for passwords in a window."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    window = tmp_path / "window"
    window.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    window.chmod(0o755)
    package = tmp_path / "packages/asked_for-1.0.dist-info"
    package.mkdir(parents=True)
    for name, text in (
        ("METADATA", "Metadata-Version: 2.1\nName: asked-for\nVersion: 1.0\n"),
        ("RECORD", "asked_for.py,,\n"),
    ):
        (package / name).write_text(text)
    (tmp_path / "packages/asked_for.py").touch()
    host = {"PATH": os.environ["PATH"], "DISPLAY": ":9", "SSH_ASKPASS": str(window)}
    done = subprocess.run(
        ("bash", "-c", script),
        cwd=tmp_path,
        env=child_environment(host | {"PYTHONPATH": str(package.parent), "HOME": str(tmp_path)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        timeout=20,
        check=False,
    )
    if "outside environment" in done.stdout or "externally-managed" in done.stdout:
        pytest.skip("this pip takes no such package away, so that it has nothing to ask")
    assert said in done.stdout
    assert not (tmp_path / "asked").exists()
    assert (tmp_path / "packages/asked_for.py").exists()


@pytest.mark.parametrize(
    "name",
    ["BASH_ENV", "ENV", "CDPATH", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "GLOBIGNORE", "IFS", "BASH_FUNC_ls%%"],
)  # fmt: skip
def test_what_would_change_how_the_shell_reads_does_not_reach_it(name: str):
    assert name not in child_environment({name: "x"})


def test_git_runs_no_file_monitor_and_keeps_the_settings_it_was_given():
    environment = child_environment({
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "x",
    })
    count = int(environment["GIT_CONFIG_COUNT"])
    given = {
        environment[f"GIT_CONFIG_KEY_{index}"]: environment[f"GIT_CONFIG_VALUE_{index}"]
        for index in range(count)
    }
    assert given["user.name"] == "x"
    assert given["core.fsmonitor"] == "false"
    assert given["safe.bareRepository"] == "explicit"


@pytest.mark.parametrize("path", [":/bin:/usr/bin", "/bin:/usr/bin:", "/bin::/usr/bin", ".:/bin:./:/usr/bin"])
def test_no_program_is_looked_for_in_the_working_folder(path: str):
    assert child_environment({"PATH": path})["PATH"] == "/bin:/usr/bin"


@pytest.mark.parametrize(
    "name",
    [
        "NPM_CONFIG__AUTH", "DOCKER_AUTH_CONFIG", "ANTHROPIC_CUSTOM_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS", "CREDENTIAL", "AZURE_CREDENTIAL",
        "SERVICE_CREDS", "STRIPE_KEY", "DB_PASS", "SSHPASS", "GPG_PASSPHRASE", "GITLAB_PAT", "SECRET_KEY_BASE", "TOKEN_GITHUB", "API_KEY_2",
        "AZURE_STORAGE_CONNECTION_STRING", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "SESSION_COOKIE", "REDISCLI_AUTH", "aws_secret_access_key",
    ],
)  # fmt: skip
def test_secrets_of_other_names_do_not_reach_children(name: str):
    assert name not in child_environment({name: "s"})


@pytest.mark.parametrize(
    "value",
    [
        "postgres://me:s3cret@db/x", "http://user:gwpassw0rd@proxy:1/", "redis://:s3cret@cache", "sk-ant-api03-abcdefghijkl", "sk-proj-abcdefgh12345678",
        "ghp_0123456789abcdef0123", "AKIA0123456789ABCDEF", "xoxb-1234-abcdefgh", "glpat-0123456789abcd", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "-----BEGIN PRIVATE KEY-----", "Bearer abcdefgh12345678", "Server=x;Password=s3cret1;", '{"auths": {"h": {"auth": "eA=="}}}',
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_does_not_reach_children_under_any_name(value: str):
    assert child_environment({"ANY": value, "HTTPS_PROXY": value}).keys().isdisjoint({"ANY", "HTTPS_PROXY"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", "*.local"), ("PWD", "/home/me/sk-learn-project-2"), ("HOME", "/home/sk-abcdefgh123456"),
        ("PYTHONPATH", "/opt/disk-learn-tools"), ("DATABASE_URL", "postgres://db/x"), ("KUBECONFIG", "/k"),
        ("SSH_AUTH_SOCK", "/tmp/agent.1"), ("SSH_ASKPASS", "/bin/x"), ("XDG_RUNTIME_DIR", "/run/1"), ("KEYBOARD", "us"), ("AUTHOR", "me"),
    ],
)  # fmt: skip
def test_what_holds_no_secret_is_kept(name: str, value: str):
    assert child_environment({name: value})[name] == value


def test_a_secret_in_a_setting_for_git_goes_and_git_still_starts(tmp_path: Path):
    given = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": "Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "GIT_CONFIG_KEY_1": "url.https://me:s3cret@host/.insteadOf",
        "GIT_CONFIG_VALUE_1": "https://host/",
    }
    environment = child_environment(given)
    assert not [value for value in environment.values() if "s3cret" in value or "dXNlcjpw" in value]
    subprocess.run(("git", "init", "-q"), cwd=tmp_path, env=environment, check=True)
