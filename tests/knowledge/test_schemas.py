"""The committed JSON Schemas are those of the code. TILEWRIGHT_WRITE_SCHEMAS=1 renews them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from tilewright.certificates.model import CertificateFile
from tilewright.hardware.model import HardwareFile
from tilewright.knowledge.api import ApiFile
from tilewright.knowledge.files import knowledge_root
from tilewright.knowledge.language_notes import OptionsFile, TritonNotesFile
from tilewright.knowledge.model import ConstraintFile, TaxonomyFile
from tilewright.knowledge.nki import NkiFile, NkiNotesFile
from tilewright.knowledge.patterns import PatternFile
from tilewright.models.prices import PriceFile
from tilewright.search.spec import StrategySpec

SCHEMAS: dict[str, tuple[type[Any], str]] = {
    "taxonomy": (TaxonomyFile, "Tilewright issue types"),
    "constraints": (ConstraintFile, "Tilewright constraints"),
    "patterns": (PatternFile, "Tilewright patterns"),
    "hardware": (HardwareFile, "Tilewright chips"),
    "nki": (NkiFile, "Tilewright NKI interface"),
    "nki_notes": (NkiNotesFile, "Tilewright notes on NKI functions"),
    "triton_notes": (TritonNotesFile, "Tilewright notes on names of triton.language"),
    "launch_options": (OptionsFile, "Tilewright notes on options of a launch"),
    "api": (ApiFile, "Names of triton.language by version"),
    "strategies": (StrategySpec, "Tilewright searches"),
    "models": (PriceFile, "Tilewright prices of language models"),
}
CERTIFICATE = (CertificateFile, "Tilewright certificate")


def schema_text(kind: type[Any], title: str) -> str:
    """For editors, and for whoever adds an entry or reads a certificate with other tools."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema = dialect | TypeAdapter(kind).json_schema() | {"title": title}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


@pytest.mark.parametrize(("name", "kind"), [*SCHEMAS.items(), ("certificate", CERTIFICATE)])
def test_committed_schema_is_current(name: str, kind: tuple[type[Any], str]) -> None:
    path = knowledge_root() / "schema" / f"{name}.json"
    text = schema_text(*kind)
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
