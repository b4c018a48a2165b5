"""A rule that does nothing looks just like one that works: it is named at the start."""

from pathlib import Path

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.testing import Reply, ScriptedModel, fake_tool, say


async def test_a_rule_that_can_match_nothing_is_told_at_the_start(tmp_path: Path):
    chosen = Options(
        cwd=tmp_path,
        model=ScriptedModel(Reply(say("ok"))),
        extra_tools=[fake_tool("mine")],
        environment={"HOME": str(tmp_path)},
        settings='{"permissions": {"deny": ["bash"], "ask": ["Bsh(rm:*)"], "allow": ["touch"]}}',
        disallowed_tools=("read", "mine", "Bash(rm:*)"),
    )
    async with open_engine(chosen) as engine:
        told = " ".join(engine.setting.notices)
    for rule in ("deny rule `bash`", "ask rule `Bsh(rm:*)`", "allow rule `touch`", "deny rule `read`"):
        assert rule in told
    assert "mine" not in told
