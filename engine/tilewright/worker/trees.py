"""What a function returned, as trees of containers (``tensors.flatten``), held side by side."""

from __future__ import annotations

from typing import Any


def difference(expected: Any, actual: Any, place: str | None = None) -> str | None:
    """Where two trees of containers first differ; None where they do not."""
    wanted, got = _outline(expected), _outline(actual)
    if wanted == got and expected.get("keys") != actual.get("keys"):
        wanted = "the keys " + ", ".join(expected["keys"])
        got = ", ".join(actual["keys"])
    if wanted != got:
        return f"expected {wanted} {f'as {place}' if place else 'to be returned'}, got {got}"
    items = enumerate(zip(expected.get("items", ()), actual.get("items", ()), strict=True))
    inner = (difference(*pair, f"{place or 'output'}[{at}]") for at, pair in items)
    return next((told for told in inner if told), None)


def _outline(tree: Any) -> str:
    if tree["kind"] in ("tuple", "list", "dict"):
        return f"a {tree['kind']} of {len(tree['items'])}"
    return {"none": "nothing", "tensor": "a tensor"}.get(tree["kind"], "a number")
