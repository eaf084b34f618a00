"""The JSON Schema of ``knowledge/hardware/*.yaml``."""

from typing import Any

from tilewright.hardware.model import HardwareFile
from tilewright.knowledge.files import json_schema_of


def json_schema() -> dict[str, Any]:
    """For editors, and for whoever adds a chip."""
    return json_schema_of(HardwareFile, "Tilewright chips")
