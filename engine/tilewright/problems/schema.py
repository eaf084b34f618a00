"""The JSON Schema of specs, made of the keys that the reader knows, for editors to complete by."""

from collections.abc import Mapping
from typing import Any

from tilewright.problems.dtypes import DTYPE_BYTES
from tilewright.problems.variants import INPUT_KEYS, MEMORY_FORMATS, VARIANT_KEYS

Json = Mapping[str, Any]
_NAME: Json = {"type": "string", "pattern": r"^[A-Za-z_]\w*$"}
_AMOUNT: Json = {
    "type": ["number", "string"],
    "description": 'A number, or a formula in the names of dimensions, such as "2*M*N*K".',
}
_DTYPE: Json = {"type": "string", "examples": sorted(DTYPE_BYTES)}
_INPUT: Mapping[str, Json] = {
    "shape": {"type": ["array", "string"], "description": "Extents: names of dimensions, numbers."},
    "dtype": {**_DTYPE, "description": "A type; `inherit` takes the variant's."},
    "range": {"type": "array", "description": "Least and greatest value."},
    "inits": {"description": "Transforms of the values that are drawn, one after the other."},
    "value": {"description": "The value itself, in place of a tensor."},
    "facts": {"type": "object", "description": "What always holds of the values."},
}
_VARIANT: Mapping[str, Json] = {
    "params": {"type": "array", "items": _NAME, "description": "Inputs, in the entry's order."},
    "dtype": {**_DTYPE, "description": "Of the inputs that inherit it."},
    "dims": {
        "type": ["object", "array"],
        "description": "Extents by name; a list of them makes a case of each.",
    },
    "flop": {**_AMOUNT, "description": "Operations of one call; a number or a formula."},
    "mem_bytes": {**_AMOUNT, "description": "Bytes one call has to move; a number or a formula."},
    "rtol": {"type": ["number", "string"], "description": "Relative tolerance."},
    "atol": {"type": ["number", "string"], "description": "Absolute tolerance."},
    "memory_format": {"enum": list(MEMORY_FORMATS)},
}
_SPEC: Mapping[str, Json] = {
    "name": {"type": "string"},
    "description": {"type": "string"},
    "entry": {"type": "string", "description": "The function that is called."},
    "files": {
        "type": ["array", "string"],
        "description": "Files the spec is for, where they are not one file of its own stem.",
    },
    "target": {"type": "string", "description": "The chip, such as cuda:90."},
    "reference": {
        "type": ["object", "string"],
        "description": "An independent implementation: `file` and `entry`.",
    },
    "inits": {"description": "Arguments of the model's constructor."},
    "multiples": {"type": "object", "description": "Numbers that dimensions are multiples of."},
    "default_variant": {"type": "string", "description": "The variant that is timed."},
    "problem": {"type": "object", "description": "Tests that are the problem: `pytest: FILE`."},
}


def spec_schema() -> dict[str, Any]:
    """Draft 2020-12; any other key with a list is a variant, as the reader has it."""
    one = {"type": "object", "properties": dict(_INPUT), "additionalProperties": False}
    variant = {"type": "object", "properties": dict(_VARIANT), "additionalProperties": False}
    inputs = {"type": "object", "additionalProperties": one, "description": "Inputs by name."}
    variants = {"type": "array", "items": variant}
    _same("an input", _INPUT, INPUT_KEYS)
    _same("a variant", _VARIANT, VARIANT_KEYS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tilewright spec of a kernel",
        "type": "object",
        "properties": {**_SPEC, "inputs": inputs, "ci": variants, "bench-gpu": variants},
        "additionalProperties": variants,
    }


def _same(what: str, described: Mapping[str, Json], known: frozenset[str]) -> None:
    """Raises ValueError where the reader knows other keys than the schema describes."""
    if set(described) != known:
        differ = ", ".join(sorted(set(described) ^ known))
        raise ValueError(f"the schema and the reader of {what} differ in: {differ}")
