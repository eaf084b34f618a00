"""The committed JSON Schemas are those of the code. TILEWRIGHT_WRITE_SCHEMAS=1 renews them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
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
from tilewright.problems.schema import spec_schema
from tilewright.search.spec import StrategySpec

EXAMPLES = Path(__file__).parents[2] / "examples"
EXTENSION = Path(__file__).parents[2] / "vscode-extension"
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


def test_committed_schema_of_specs_is_current() -> None:
    path = knowledge_root() / "schema" / "spec.json"
    text = json.dumps(spec_schema(), indent=2, sort_keys=True) + "\n"
    if os.environ.get("TILEWRIGHT_WRITE_SCHEMAS"):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("spec", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: str(path.name))
def test_schema_of_specs_knows_every_key_of_an_example(spec: Path) -> None:
    schema = spec_schema()
    read = yaml.safe_load(spec.read_text())
    variant = schema["additionalProperties"]["items"]["properties"]
    for name, value in read.items():
        if name not in schema["properties"] or name in ("ci", "bench-gpu"):
            assert all(set(one) <= set(variant) for one in value), (name, value)
    given = schema["properties"]["inputs"]["additionalProperties"]["properties"]
    assert all(set(one) <= set(given) for one in (read.get("inputs") or {}).values())


def test_the_extension_contributes_a_schema_for_each_kind_of_yaml() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    contributed = manifest["contributes"]["yamlValidation"]
    urls = {Path(one["url"]).stem for one in contributed}
    assert urls == {file.stem for file in (knowledge_root() / "schema").glob("*.json")} - {
        "certificate", "spec",
    }  # fmt: skip
    (certificate,) = manifest["contributes"]["jsonValidation"]
    assert certificate["fileMatch"] == ["*.tilewright.json"]
