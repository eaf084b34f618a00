"""JSON Schemas of the knowledge base's YAML, for editors."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from tilewright.knowledge.files import json_schema_of
from tilewright.knowledge.model import ConstraintFile, TaxonomyFile
from tilewright.knowledge.patterns import PatternFile

Kind = Literal["taxonomy", "constraints", "patterns"]
_KINDS: Mapping[str, tuple[type[Any], str]] = {
    "taxonomy": (TaxonomyFile, "Tilewright issue types"),
    "constraints": (ConstraintFile, "Tilewright constraints"),
    "patterns": (PatternFile, "Tilewright patterns"),
}


def json_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of ``knowledge/<kind>/*.yaml``."""
    return json_schema_of(*_KINDS[kind])


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as it is committed under ``knowledge/schema``."""
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
