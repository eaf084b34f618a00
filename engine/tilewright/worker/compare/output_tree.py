"""What a function returned, as trees of containers (``tensors.flatten``), compared."""

from __future__ import annotations

from typing import Any


def difference(expected: Any, actual: Any, place: str | None = None) -> str | None:
    """Where two trees of containers first differ; None where they do not."""
    wanted, got = _outline(expected), _outline(actual)
    keys = expected.get("keys"), actual.get("keys")
    if None not in keys and keys[0] != keys[1]:
        wanted, got = f"the keys {', '.join(keys[0])}", ", ".join(keys[1]) or "none"
    if wanted != got:
        return f"expected {wanted} {f'as {place}' if place else 'to be returned'}, got {got}"
    names = [repr(key) for key in keys[0]] if keys[0] else range(len(expected.get("items", ())))
    pairs = zip(names, expected.get("items", ()), actual.get("items", ()), strict=True)
    inner = (difference(one, other, f"{place or 'output'}[{at}]") for at, one, other in pairs)
    return next((told for told in inner if told), None)


def _outline(tree: Any) -> str:
    if tree["kind"] in ("tuple", "list", "dict"):
        return f"a {tree['kind']} of {len(tree['items'])}"
    return {"none": "nothing", "tensor": "a tensor"}.get(tree["kind"], "a number")
