"""What a child may know, and that it has nobody to ask."""

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
