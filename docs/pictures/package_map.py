"""Write docs/package-map.md: the packages and their imports, read from the source."""

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "package-map.md"
sys.path.insert(0, str(ROOT / "tests" / "house"))
from house_modules import PACKAGES, all_modules  # noqa: E402

Graph = dict[str, set[str]]
_HEAD = """# Package map

Written by `make pictures` from the imports of the source. An arrow goes from a package to one that
it imports; arrows that follow from others are left out. Packages that import each other share a
box.

```mermaid
flowchart TD
"""


def main() -> None:
    """Write the page."""
    graph = merged(package_graph())
    lines = [f'  {_id(name)}["{name}"]' for name in sorted(graph)]
    lines += [f"  {_id(a)} --> {_id(b)}" for a in sorted(graph) for b in sorted(reduced(graph, a))]
    PAGE.write_text(_HEAD + "\n".join(lines) + "\n```\n", encoding="utf-8")


def package_graph() -> Graph:
    """Which package imports which, without the modules below all packages."""
    packages = {p.name for p in (PACKAGES["tilewright"] / "tilewright").iterdir() if p.is_dir()}
    packages = {name for name in packages if not name.startswith("_")} | {"server"}
    graph: Graph = {name: set() for name in packages}
    for module in all_modules():
        for imported in module.imports:
            parts = imported.name.split(".")
            area = "server" if parts[0] == "tilewright_server" else parts[1] if parts[1:] else ""
            if module.area in packages and area in packages and area != module.area:
                graph[module.area].add(area)
    return graph


def merged(graph: Mapping[str, set[str]]) -> Graph:
    """The graph with packages that reach each other as one node."""
    reach = {name: _reachable(graph, name) for name in graph}
    label = {
        a: ", ".join(sorted({a} | {b for b in reach[a] if a in reach[b]})) for a in sorted(graph)
    }
    out: Graph = {name: set() for name in label.values()}
    for a, targets in graph.items():
        out[label[a]] |= {label[b] for b in targets} - {label[a]}
    return out


def reduced(graph: Mapping[str, set[str]], node: str) -> set[str]:
    """The targets of a node that no other target reaches."""
    targets = graph[node]
    return {b for b in targets if not any(b in _reachable(graph, c) for c in targets - {b})}


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph[name]
    return found


def _id(name: str) -> str:
    return name.replace(", ", "_")


if __name__ == "__main__":
    main()
