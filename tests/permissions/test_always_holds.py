"""What is offered as "always" is asked once: a call judged anew with the rules of its question is allowed, or none are offered."""

from pathlib import Path

import pytest
from tests.permissions.gate_calls import policy

from ostinato.option_values import PermissionMode
from ostinato.permissions.call_report import report_call
from ostinato.permissions.decision import decide
from ostinato.permissions.report_text import report_text
from ostinato.permissions.typed_call import typed_call
from ostinato.permissions.verdict import Ask

ASKING_MODES: tuple[PermissionMode, ...] = ("default", "acceptEdits", "plan")
FILE_TOOLS = ("Read", "Grep", "Glob", "LS", "Edit", "Write", "MultiEdit", "NotebookEdit")
PATHS = (
    "notes.txt", "./notes.txt", "dir/../notes.txt", "out.txt", "twice.txt", "outdir", "outdir/t.txt", "outdir/new.txt", "outdir/../x", "gone.txt", "loop",
    "{outside}", "{outside}/t.txt", "{outside}/inward/notes.txt", "~/x.txt", "~/led/x.txt", "a b.txt", " a ", "a(b)", "a*", "a[1]", "a?", "é.txt", "#a", "'a'", '"a"', "a\nb", "-a",
    "a:*", "a:b", "key", ".git/config", "/dev/null", "/", ".", "..",
)  # fmt: skip
COMMANDS = (
    "touch {}", "cp a {}", "echo hi > {}", "npm test > {}", "cat {}", "sort < {}", "rm {}", "sed -i s/a/b/ {}", "tee {}", "cd {}", "cd {} && touch x", "sort -o {} a",
)  # fmt: skip
TEXTS = (
    "npm test", "npm test && cargo build", "git push origin main", "uv run python x", "python3 -c 'print(1)'", "timeout 5 make", "sudo make", "xargs rm", "X=1 make",
    "echo $x", "make $x", "./x 1", 'grep "a b" /etc/passwd', "echo 'a * b' | make", "find . -exec rm {} +", "bash -c 'make; npm test'", "docker run x y", "curl x > y",
    "make\nmake all", "git log --output=out.txt", "git -c a.b=c status", "kill %1", "make 'a:*'", "make a:b", "make '(a)'", "make 'é'", "make \"it's\"", "npm run a:b",
    "npm run run_in_background:true", "timeout:5 x", "git commit -m 'a:* b'", "make # x", "make;", "{ make; }", "make > out.txt; npm test > outdir/new.txt",
)  # fmt: skip
OTHERS = (
    ("WebFetch", "https://example.org/a"), ("WebFetch", "https://EXAMPLE.org:8443/a"), ("WebFetch", "http://[::1]/"), ("WebFetch", "http://bücher.example/"), ("WebFetch", "no address"),
    ("WebFetch", "http://a*b/"), ("WebSearch", "{}"), ("Skill", "x"), ("Agent", "y"), ("mcp__a__b", "{}"), ("mcp__a-b__c.d", "{}"), ("own tool", "{}"), ("tool(x)", "{}"),
)  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`work` with links of every kind to `outside`, and `home`."""
    place = tmp_path_factory.mktemp("place")
    for name in ("work/dir", "outside", "home", "work/.git"):
        (place / name).mkdir(parents=True)
    for name in ("work/notes.txt", "outside/t.txt", "work/a b.txt", "work/dir/t.txt"):
        (place / name).write_text("x")
    for name, target in {
        "work/out.txt": place / "outside/t.txt",
        "work/twice.txt": Path("out.txt"),
        "work/outdir": Path("../outside"),
        "work/gone.txt": place / "outside/gone",
        "work/loop": Path("loop"),
        "work/key": Path(".git/config"),
        "outside/inward": place / "work",
        "home/led": place / "outside",
        "link": Path("work"),
    }.items():
        (place / name).symlink_to(target)
    return place


def holds(place: Path, tool: str, text: str, folder: str = "work", *rules: str) -> bool:
    """Whether rules were offered in any mode; that they hold is asserted for each."""
    cwd, was_offered = place / folder, False
    call = typed_call(tool, text, cwd=cwd, roots=(cwd.resolve(),), home=place / "home")
    for mode in ASKING_MODES:
        report = report_call(call, policy(*rules, mode=mode))
        for part in (report, *report.parts):
            was_offered |= bool(part.suggestions)
        if report.suggestions:
            offered = [f"allow {rule}" for rule in report.suggestions]
            again = report_call(call, policy(*rules, *offered, mode=mode))
            assert again.outcome == "allow", (tool, text, mode, offered)
    return was_offered


@pytest.mark.parametrize(
    ("tool", "folder"), [*((tool, "work") for tool in FILE_TOOLS), ("Read", "link"), ("Edit", "link")]
)
def test_the_rules_for_a_file_hold_wherever_its_links_lead(place: Path, tool: str, folder: str):
    offered = {path for path in PATHS if holds(place, tool, path.format(outside=place / "outside"), folder)}
    assert {
        "out.txt",
        "twice.txt",
        "outdir/t.txt",
        "{outside}/inward/notes.txt",
        "~/led/x.txt",
    } - offered <= ({"{outside}/inward/notes.txt"} if tool in {"Read", "Grep", "Glob", "LS"} else set())
    assert offered & {"a*", "a(b)", " a ", "a?"} == set()
    assert ("key" in offered) == (".git/config" in offered)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_rules_for_a_command_hold_whatever_path_it_names(place: Path, command: str):
    for path in PATHS:
        holds(place, "Bash", command.format(path.format(outside=place / "outside")))
    if ">" in command:
        assert holds(place, "Bash", command.format("outdir/new.txt"), "work", "allow Bash(npm test)")


def test_the_rules_for_every_other_call_hold(place: Path):
    offered = [text for text in TEXTS if holds(place, "Bash", text)]
    offered += [tool for tool, text in OTHERS if holds(place, tool, text)]
    assert {"npm test", "make a:b", "WebFetch", "mcp__a__b"} <= set(offered)
    assert {"own tool", "tool(x)"}.isdisjoint(offered)


@pytest.mark.parametrize("tool", ["Read", "Edit", "Grep", "Write"])
def test_a_file_behind_a_link_needs_a_rule_for_its_name_and_one_for_its_place(place: Path, tool: str):
    call = typed_call(tool, "out.txt", cwd=place / "work", roots=(place / "work",), home=place / "home")
    kind = "Read" if tool in {"Read", "Grep"} else "Edit"
    both = (f"{kind}(/{place / 'work'}/out.txt)", f"{kind}(/{place}/outside/t.txt)")
    assert report_call(call, policy()).suggestions == both
    for rules in (both[:1], both[1:]):
        assert report_call(call, policy(*(f"allow {rule}" for rule in rules))).outcome == "ask"


def test_nothing_is_offered_where_an_ask_rule_would_ask_again(place: Path):
    assert not holds(place, "Bash", "make", "work", "ask Bash(make:*)")
    assert not holds(place, "Write", "x", "work", "ask Edit")


def test_a_rule_for_going_to_a_folder_settles_that_and_nothing_done_there(place: Path):
    def answer(text: str, *rules: str) -> str:
        call = typed_call("Bash", text, cwd=place / "work", roots=(place / "work",), home=place / "home")
        return report_call(call, policy(*rules)).outcome

    outside = f"{place}/outside"
    through_link = (f"allow Cd(/{place / 'work'}/outdir)", f"allow Cd(/{outside})")
    assert answer(f"cd {outside}") == "ask"
    for rule in (f"allow Cd(/{outside})", f"allow Cd(/{place}/**)", "allow Cd", f"allow Read(/{outside})"):
        assert answer(f"cd {outside}", rule) == "allow"
        assert answer(f"cd {outside} && pwd", rule) == "allow"
        assert answer(f"cd {outside} && touch x", rule) == "ask"
    assert answer(f"cd {outside} && cat t.txt", f"allow Cd(/{outside})") == "ask"
    assert answer(f"cat {outside}/t.txt", f"allow Cd(/{place}/**)", "allow Cd") == "ask"
    assert answer(f"cd {outside}", f"allow Cd(/{place}/home)") == "ask"
    assert answer("cd outdir", *through_link) == "allow"
    assert answer("cd outdir", through_link[0]) == answer("cd outdir", through_link[1]) == "ask"
    assert answer(f"cd {outside}", "allow Cd", f"deny Cd(/{outside})") == "deny"


@pytest.mark.parametrize("folder", ["work", "link"])
@pytest.mark.parametrize("command", [command for command in COMMANDS if "cd" not in command])
def test_a_question_about_a_command_names_where_its_links_lead_and_no_path_that_is_none(
    place: Path, command: str, folder: str
):
    cwd = place / folder
    for path, real in (("outdir/t.txt", "outside/t.txt"), ("notes.txt", None), ("dir/t.txt", None)):
        call = typed_call("Bash", command.format(path), cwd=cwd, roots=(place / "work",), home=place / "home")
        expected = () if real is None else ((cwd / path, place / real),)
        verdict = decide(call, policy("ask Bash"))
        assert isinstance(verdict, Ask)
        assert verdict.links == expected
        shown = report_text(report_call(call, policy("ask Bash")))
        assert (f"{cwd / path}, which leads to {place}/{real}" in shown) == bool(expected)


def test_a_wildcard_that_meets_a_link_is_named_with_where_that_leads(place: Path):
    def links(text: str) -> tuple[tuple[Path, Path], ...]:
        call = typed_call("Bash", text, cwd=place / "work", roots=(place / "work",), home=place / "home")
        return report_call(call, policy()).links

    assert links("rm out.*") == ((place / "work/out.*", place / "outside/t.txt"),)
    assert links("rm dir/*") == ()
