"""The estimate of a text against what real tokenisers count: never far below, so that nothing dense fills a window unseen."""

import base64
import json
from random import Random

import pytest

from ostinato.normalise.token_estimate import tokens_of

CHINESE = (
    "我们需要先读取配置文件，然后检查每一个模块的依赖关系。如果测试失败，请把错误信息完整地写下来，不要修改原来的数据。"
    "这个函数的作用是把用户输入的文字转换成内部的数据结构，并在出错时返回清楚的说明。会议定于星期三下午三点在二楼举行，请大家准时参加。"
    "数据库连接超时之后，程序应当自动重试三次，每次间隔一秒；若仍不成功，就记录日志并通知管理员。"
)
JAPANESE = (
    "設定ファイルを読み込んでから、各モジュールの依存関係を確認してください。テストが失敗した場合は、エラーメッセージをそのまま書き留めて、"
    "元のデータは変更しないでください。"
)
RUSSIAN = (
    "Сначала прочитайте файл настроек, затем проверьте зависимости каждого модуля. Если тест не проходит, запишите сообщение об ошибке "
    "полностью и не изменяйте исходные данные. "
)

COUNTED: dict[str, tuple[int, ...]] = {
    "JSON (compact, numbers)": (16157, 16157, 17742, 26993, 16756),
    "base64": (27295, 28640, 28214, 29579, 27947),
    "hex": (17166, 17116, 17562, 26463, 17388),
    "CSV": (18200, 18200, 18179, 26358, 18200),
    "ls -l": (10532, 10532, 10023, 13852, 10000),
    "test output": (12050, 12050, 12550, 13390, 12500),
    "Chinese": (2180, 3000, 2720, 2000, 1860),
    "Japanese": (1200, 1660, 1580, 1000, 960),
    "Russian": (781, 1241, 1501, 901, 821),
}
"""What o200k, cl100k, an older Claude, Qwen 3 and DeepSeek V3 count for these texts."""


def texts() -> dict[str, str]:
    """The order matters: they share one source of chance."""
    chance = Random(1)
    made: dict[str, str] = {}
    things = [
        {
            "id": chance.randrange(10**9),
            "t": chance.random(),
            "ok": chance.random() < 0.5,
            "name": f"item-{i}",
        }
        for i in range(600)
    ]
    made["JSON (compact, numbers)"] = json.dumps(things, separators=(",", ":"))
    made["base64"] = base64.b64encode(chance.randbytes(30_000)).decode()
    made["hex"] = chance.randbytes(15_000).hex()
    made["CSV"] = "".join(
        f"{i},{chance.randrange(1000) / 10},{chance.choice(['red', 'green', 'blue'])},2026-11-{chance.randrange(1, 30):02d}\n"
        for i in range(1200)
    )
    made["ls -l"] = "".join(
        f"-rw-r--r-- 1 root root {chance.randrange(10**6):8d} Nov {chance.randrange(1, 30):2d} 19:{chance.randrange(60):02d} file_{i}.py\n"
        for i in range(400)
    )
    made["test output"] = "".join(
        f"tests/loop/test_passes.py::test_number_{i}[asyncio] PASSED                    [{i % 100:3d}%]\n"
        for i in range(500)
    )
    return {**made, "Chinese": CHINESE * 20, "Japanese": JAPANESE * 20, "Russian": RUSSIAN * 20}


@pytest.mark.parametrize("name", COUNTED)
def test_it_is_never_far_below_what_any_of_them_counts(name: str):
    assert tokens_of(texts()[name]) >= 0.85 * max(COUNTED[name])


@pytest.mark.parametrize("name", [name for name in COUNTED if name != "Russian"])
def test_nor_more_than_about_twice_of_what_any_counts(name: str):
    assert tokens_of(texts()[name]) <= 2.2 * min(COUNTED[name])


def test_a_long_text_is_judged_by_parts_of_it_alike():
    for text in texts().values():
        assert (
            0.8
            <= tokens_of(text) / sum(tokens_of(text[i : i + 2_000]) for i in range(0, len(text), 2_000))
            <= 1.25
        )
