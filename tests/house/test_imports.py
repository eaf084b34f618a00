"""Imports run in one direction, and the heavy ones stay where they belong."""

import subprocess
import sys

import pytest
from house_modules import Import, SourceModule, all_modules

# Anything may import these: names, errors, faults of our own, where files live for long and for a
# while, texts of files, JSON, the setting of the garbage collector.
BASE = {
    "tilewright",
    "errors",
    "harness_fault",
    "serialize",
    "home",
    "scratch",
    "python_syntax",
    "textfile",
    "collection",
    "lru",
    "figures",
    "priority",
    "__version__",
}

# What each package may import beside BASE and itself. A package is missing on the
# right of those that stand before it: that is the direction of the arrows.
ALLOWED: dict[str, set[str]] = {
    "tilewright": set(),
    "errors": set(),
    "serialize": set(),
    "home": set(),
    "harness_fault": {"home"},
    "scratch": set(),
    "python_syntax": set(),
    "textfile": set(),
    "collection": set(),
    "lru": set(),
    "figures": set(),
    "priority": set(),
    "__main__": {"cli"},
    "knowledge": set(),
    "models": {"knowledge", "targets"},
    "worker": set(),
    "targets": {"knowledge", "hardware", "devices", "worker"},
    "hardware": {"knowledge", "targets"},
    "devices": {"targets", "hardware", "knowledge", "worker"},
    "problems": {"targets"},
    "source": set(),
    "certificates": {"source"},
    "captures": {"source", "targets", "hardware", "knowledge", "devices", "worker", "problems"},
    "analysis": {"source", "knowledge", "targets", "hardware"},
    "rewrites": {"analysis", "source", "knowledge", "targets", "hardware"},
    "navigation": {"analysis", "source", "knowledge", "targets", "hardware"},
    "compiled": {"analysis", "source", "knowledge", "targets", "hardware"},
    "costs": {"analysis", "source", "knowledge", "targets", "hardware", "worker"},
}
ALLOWED["signatures"] = ALLOWED["captures"] | {"captures", "analysis"}
ALLOWED["evaluation"] = ALLOWED["signatures"] | {"signatures", "compiled", "costs", "certificates"}
ALLOWED["inspection"] = ALLOWED["evaluation"] | {"evaluation"}
ALLOWED["profiling"] = ALLOWED["inspection"]
ALLOWED["store"] = ALLOWED["evaluation"] | {"evaluation"}
ALLOWED["agents"] = ALLOWED["evaluation"] | {"evaluation", "models"}
ALLOWED["executed"] = ALLOWED["agents"] | {"agents"}
ALLOWED["search"] = ALLOWED["evaluation"] | {"evaluation"}
ALLOWED["memory"] = ALLOWED["store"] | {"store", "search", "rewrites"}
ALLOWED["strategies"] = ALLOWED["store"] | {
    "store",
    "rewrites",
    "agents",
    "models",
    "profiling",
    "search",
    "memory",
}
ALLOWED["checking"] = {
    "navigation",
    "search",
    "certificates",
    "models",
    "rewrites",
    "analysis",
    "source",
    "knowledge",
    "targets",
    "hardware",
    "problems",
}
ALLOWED["report"] = ALLOWED["strategies"] | {"strategies"}
ALLOWED["cli"] = ALLOWED["report"] | {
    "report",
    "server",
    "checking",
    "captures",
    "inspection",
    "profiling",
    "executed",
}
ALLOWED["server"] = ALLOWED["strategies"] | {"strategies", "checking", "navigation"}

HEAVY = {"torch", "triton", "numpy"}
PROTOCOL = {"pygls", "lsprotocol", "mcp", "mcp_types"}


def _area(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] == "tilewright_server":
        return "server"
    if parts[0] != "tilewright":
        return None
    return parts[1] if len(parts) > 1 else "tilewright"


def _every_import() -> list[tuple[SourceModule, Import]]:
    return [(module, found) for module in all_modules() for found in module.imports]


def _where(module: SourceModule, found: Import) -> str:
    return f"{module.place}:{found.line} imports {found.name}"


def test_every_package_has_a_place_in_the_order() -> None:
    areas = {module.area for module in all_modules()}
    assert areas <= set(ALLOWED), f"say in ALLOWED what may be imported by {areas - set(ALLOWED)}"


def test_imports_run_in_one_direction() -> None:
    wrong = [
        _where(module, found)
        for module, found in _every_import()
        if (area := _area(found.name)) is not None
        and area not in BASE | ALLOWED[module.area] | {module.area}
    ]
    assert not wrong, "\n".join(wrong)


def _circles() -> list[str]:
    """Modules that import each other, also in functions and for types alone."""
    edges = {
        module.name: {found.name for found in module.imports if found.name != module.name}
        for module in all_modules()
    }
    done: set[str] = set()

    def circle(name: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
        if name in path:
            return (*path[path.index(name) :], name)
        if name in done:
            return None
        found = next(filter(None, (circle(n, (*path, name)) for n in edges.get(name, ()))), None)
        done.add(name)
        return found

    return [" -> ".join(found) for name in edges if (found := circle(name, ()))]


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Packages may share their ``model`` modules both ways; a circle of modules is a knot."""
    assert not (circles := _circles()), "\n".join(circles)


def test_nothing_but_the_worker_imports_torch_triton_or_numpy() -> None:
    wrong = [
        _where(module, found)
        for module, found in _every_import()
        if found.name.split(".")[0] in HEAVY and module.area != "worker"
    ]
    assert not wrong, "\n".join(wrong)


def test_worker_imports_only_what_the_users_interpreter_has() -> None:
    """Relative imports of its own files, the standard library, numpy, torch, triton."""
    allowed = HEAVY | set(sys.stdlib_module_names)
    wrong = [
        _where(module, found)
        for module, found in _every_import()
        if module.area == "worker"
        and found.name.split(".")[0] not in allowed
        and not found.name.startswith("tilewright.worker")
    ]
    assert not wrong, "\n".join(wrong)


def test_worker_names_itself_only_relatively() -> None:
    """It is sent as a zip under another name: an absolute import of itself would fail there."""
    wrong = [
        module.place
        for module in all_modules()
        if module.area == "worker"
        and ("from tilewright" in module.text or "import tilewright" in module.text)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_server_speaks_the_protocol() -> None:
    wrong = [
        _where(module, found)
        for module, found in _every_import()
        if found.name.split(".")[0] in PROTOCOL and module.area != "server"
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("tilewright.cli.app", HEAVY | PROTOCOL | {"tilewright_server"}),
        ("tilewright_server", HEAVY),
    ],
)
def test_import_budget(module: str, forbidden: set[str]) -> None:
    """What starting the command line or the server really loads, in a fresh interpreter."""
    program = f"import sys, {module}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert not forbidden & set(run.stdout.split())
