"""An AI Bench / Xe-Forge YAML spec, with our optional keys, resolved to cases."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NoReturn

from tilewright.problems.facts import multiples_of
from tilewright.problems.gaps import refuse_gaps
from tilewright.problems.model import Case, NoSpecError, Ragged, small_category
from tilewright.problems.nodes import SpecNode, read_yaml
from tilewright.problems.scalars import bounds_of, with_bounds
from tilewright.problems.splits import Split
from tilewright.problems.variants import INPUT_KEYS, Reader
from tilewright.targets.model import Target, TargetError
from tilewright.targets.registry import parse_target

RESERVED = frozenset(
    {
        "inputs",
        "inits",
        "default_variant",
        "name",
        "description",
        "files",
        "entry",
        "reference",
        "target",
        "multiples",
        "problem",
    }
)
CONVENTIONAL_DEFAULT = "bench-gpu"
KNOWN_CATEGORIES = ("ci", "simple-cpu", "bench-cpu", CONVENTIONAL_DEFAULT)
_TELLING = frozenset({"inputs", "inits", "default_variant", "simple-cpu"})


@dataclass(frozen=True)
class Spec:
    """A spec by itself, before it meets the file under test."""

    text: str
    root: SpecNode
    cases: Mapping[str, tuple[Case, ...]]
    default_category: str
    entry: SpecNode | None
    reference: SpecNode | None
    warnings: tuple[str, ...]
    ragged: Ragged | None = None
    interpreted: tuple[Case, ...] = ()
    params: tuple[SpecNode, ...] = ()
    inits: SpecNode | None = None
    target: Target | None = None


def parse_spec(text: str, path: str, splits: Collection[Split] = ()) -> Spec:
    """Read a spec. Raises ProblemError with the line for what cannot be used.

    Args:
        splits: what the original's host code divides, for extents that fit no tile.
    """
    root = read_yaml(text, path)
    if not _may_be_spec(root):
        what = (
            "the spec has no 'inputs'; name the arguments of the entry point there"
            if root.is_mapping
            else "the spec must be a mapping of names to values"
        )
        raise NoSpecError(what, path, root.line)
    refuse_gaps(root)
    fields = root.fields("the spec")
    if "inputs" not in fields:
        root.fail("the spec has no 'inputs'; name the arguments of the entry point there")
    inputs = fields["inputs"].fields("'inputs'")
    reader = Reader(
        inputs,
        _inits(fields.get("inits")),
        splits=splits,
        multiples=multiples_of(fields.get("multiples")),
    )
    for name, node in reader.inputs.items():
        reader.unknown_keys(node.fields(f"input '{name}'"), INPUT_KEYS, f"input '{name}'")
    categories = _categories(fields, reader)
    if not categories:
        _no_variant(root, fields)
    read = {name: reader.cases(name, node) for name, node in categories.items()}
    between = bounds_of(case for several in read.values() for case in several)
    cases = {
        name: tuple(with_bounds(case, between) for case in several)
        for name, several in read.items()
    }
    small = small_category(categories)
    return Spec(
        text=text,
        root=root,
        cases=cases,
        default_category=_default(fields.get("default_variant"), categories),
        entry=fields.get("entry"),
        reference=fields.get("reference"),
        warnings=tuple(dict.fromkeys(reader.warnings)),
        ragged=reader.ragged(small, categories[small], between) if small is not None else None,
        interpreted=(
            reader.interpreted(small, categories[small], between) if small is not None else ()
        ),
        params=tuple(
            variant.fields("a variant")["params"]
            for name, node in categories.items()
            for variant in node.elements(name)
        ),
        inits=fields.get("inits"),
        target=target_of(fields.get("target")),
    )


def _may_be_spec(root: SpecNode) -> bool:
    """Whether a document names anything that only a spec has; another program's YAML does not."""
    if not root.is_mapping:
        return False
    return any(
        key.is_word and (key.raw in _TELLING or key.raw.startswith("bench-")) for key in root.keys
    )


def target_of(node: SpecNode | None) -> Target | None:
    """The chip that the spec says its kernels are for."""
    if node is None:
        return None
    try:
        return parse_target(node.word("'target'"))
    except TargetError as error:
        node.fail(error.message)


def _no_variant(root: SpecNode, fields: Mapping[str, SpecNode]) -> NoReturn:
    """Fail at what was meant for a list of variants, if there is such a thing."""
    for key, node in fields.items():
        if key in KNOWN_CATEGORIES:
            node.fail(f"'{key}' must be a list of variants; begin one with '- params: [NAME, ...]'")
    root.fail("the spec has no variant; add a list such as 'ci' or 'bench-gpu'")


def _inits(node: SpecNode | None) -> tuple[SpecNode, ...]:
    return () if node is None else tuple(node.elements("'inits'"))


def _categories(fields: Mapping[str, SpecNode], reader: Reader) -> dict[str, SpecNode]:
    """Keys whose values are lists of variants; every other unknown key earns a warning."""
    found: dict[str, SpecNode] = {}
    for key, node in fields.items():
        if key in RESERVED:
            continue
        items = list(node.elements(key)) if node.is_list else []
        if any(item.is_mapping for item in items):
            found[key] = node
        else:
            reader.warnings.append(
                node.note(f"unknown key '{key}' is ignored; a variant is a list of mappings")
            )
    return found


def _default(node: SpecNode | None, categories: Mapping[str, SpecNode]) -> str:
    if node is not None:
        name = node.word("'default_variant'")
        if name not in categories:
            node.fail(f"'default_variant' is '{name}'; the spec has {', '.join(categories)}")
        return name
    if CONVENTIONAL_DEFAULT in categories:
        return CONVENTIONAL_DEFAULT
    return next((c for c in categories if c.startswith("bench")), next(iter(categories)))
