import json
import re
from pathlib import Path
from typing import Any

from ostinato.config.keys import MODEL, SETTINGS
from ostinato.config.schema import SCHEMA_FILE, key_table, schema_text
from ostinato.providers.catalogue import FactOverrides

ROOT = Path(__file__).parents[2]


def test_the_published_schema_is_what_the_check_uses():
    assert SCHEMA_FILE.read_text() == schema_text(), "write schema_text() to SCHEMA_FILE"


def test_the_page_of_the_documentation_has_the_table_of_keys():
    assert key_table() in (ROOT / "docs" / "settings.md").read_text(), "put key_table() into docs/settings.md"


def test_settings_say_of_a_model_what_a_program_can_say():
    """Two lists of the same facts: whoever adds one to the first adds it to the second."""
    names = {re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key.name) for key in MODEL.keys}
    assert names == set(FactOverrides.__struct_fields__)


def test_every_key_has_a_meaning_in_the_schema():
    schema: dict[str, Any] = json.loads(schema_text())
    assert set(schema["properties"]) == {key.name for key in SETTINGS.keys}
    assert all(part["description"] for part in schema["properties"].values())
