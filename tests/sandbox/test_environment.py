"""What a child may know, and that it has nobody to ask."""

import os
import subprocess
from pathlib import Path

import pytest

from ostinato.sandbox.environment import child_environment


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


def test_pagers_prompts_and_editors_of_the_host_are_overruled():
    environment = child_environment({"PAGER": "less", "GIT_EDITOR": "vim", "TERM": "xterm-256color"})
    assert environment["PAGER"] == environment["GIT_PAGER"] == "cat"
    assert environment["GIT_EDITOR"] == "false"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["TERM"] == "dumb"


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
