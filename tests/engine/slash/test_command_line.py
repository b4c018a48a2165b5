"""What is a command and what is for the model."""

import pytest

from ostinato.engine.slash.command_line import CommandLine, read_command_line


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("/cost", CommandLine("cost")),
        ("/cost\n", CommandLine("cost")),
        ("/model opus", CommandLine("model", "opus")),
        ("/fix one\ntwo ", CommandLine("fix", "one\ntwo")),
        ("/team:review:deep a", CommandLine("team:review:deep", "a")),
        ("/größe 中文", CommandLine("größe", "中文")),
        ("/v1.2-x_y", CommandLine("v1.2-x_y")),
    ],
)
def test_a_slash_and_a_name_are_a_command_and_the_rest_its_arguments(prompt: str, line: CommandLine):
    assert read_command_line(prompt) == line


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "cost",
        " /cost",
        "\n/cost",
        "\t/cost",
        "/",
        "//",
        "// a comment",
        "/* a comment */",
        "/etc/hosts is wrong",
        "/etc/hosts",
        "/home/",
        "/regex/ finds it",
        "/1 of them",
        "/-x",
        "/?",
        "/what? is this",
        "/a,b",
        "/" + "n" * 101,
    ],
)
def test_a_path_a_comment_and_a_line_after_a_space_are_for_the_model(prompt: str):
    assert read_command_line(prompt) is None
