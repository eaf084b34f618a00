"""The committed JSON Schemas are those of the code. TILEWRIGHT_WRITE_SCHEMAS=1 renews them."""

import os
from pathlib import Path

import pytest

from tilewright.hardware.schemas import json_schema as hardware_schema
from tilewright.knowledge import json_schema, knowledge_root
from tilewright.knowledge.api import api_schema
from tilewright.knowledge.nki import nki_schema
from tilewright.knowledge.schemas import schema_text
from tilewright.models.prices import price_schema

SCHEMAS = {
    "taxonomy": lambda: json_schema("taxonomy"),
    "constraints": lambda: json_schema("constraints"),
    "patterns": lambda: json_schema("patterns"),
    "hardware": hardware_schema,
    "nki": nki_schema,
    "api": api_schema,
    "models": price_schema,
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_committed_schema_is_current(kind: str) -> None:
    path = knowledge_root() / "schema" / f"{kind}.json"
    text = schema_text(SCHEMAS[kind]())
    if os.environ.get("TILEWRIGHT_WRITE_SCHEMAS"):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_file_names_its_schema(kind: str) -> None:
    files = sorted((knowledge_root() / kind).glob("*.yaml"))
    assert files
    for file in files:
        assert file.read_text().startswith(
            f"# yaml-language-server: $schema=../schema/{kind}.json\n"
        ), file


def test_knowledge_holds_no_code() -> None:
    suffixes = {path.suffix for path in Path(knowledge_root()).rglob("*") if path.is_file()}
    assert suffixes == {".yaml", ".json"}
