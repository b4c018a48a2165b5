"""The catalogue is consistent in itself: names, sums, and parts that add up to the file."""

import pytest

from ostinato.errors import LocalModelError
from ostinato.providers.local_models import LOCAL_MODELS, find_local_model
from ostinato.providers.local_sources import RegistryPackages


def test_catalogue_names_are_unique_and_every_package_set_has_the_size_of_its_model() -> None:
    names = [name for model in LOCAL_MODELS for name in (model.name, *model.aliases)]
    assert len(names) == len(set(names))
    for model in LOCAL_MODELS:
        assert len(bytes.fromhex(model.sha256)) == 32
        for source in model.sources:
            if isinstance(source, RegistryPackages):
                last = model.file_bytes - (len(source.names) - 1) * source.part_bytes
                assert 0 < last <= source.part_bytes


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    assert find_local_model("local") is find_local_model("qwen2.5-coder-1.5b")
    with pytest.raises(LocalModelError) as caught:
        find_local_model("sonnet")
    assert "smollm2-135m" in caught.value.hint
