"""The JSON Schema of certificate files."""

from typing import Any

from pydantic import TypeAdapter

from tilewright.certificates.model import CertificateFile


def json_schema() -> dict[str, Any]:
    """As it is committed under ``knowledge/schema``."""
    schema = TypeAdapter(CertificateFile).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tilewright certificate",
    }
