"""One variant of a spec (a category's list item) turned into the cases it stands for."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from tilewright.problems.amounts import LARGEST, extent_of, formula, is_number, range_of
from tilewright.problems.dtypes import DTYPE_BYTES, canonical_dtype, is_floating
from tilewright.problems.facts import facts_of
from tilewright.problems.model import (
    RAGGED,
    SCALED,
    Case,
    Dim,
    DimScalar,
    Input,
    ProblemError,
    Ragged,
)
from tilewright.problems.nodes import Scalar, SpecNode
from tilewright.problems.ragged import far_dims, ragged_dims, single_dims, thin_dims, tied_dims
from tilewright.problems.scalars import Bounds, with_bounds
from tilewright.problems.scaled import scaled_dims, work
from tilewright.problems.splits import Extent, Split, steps_of

TRANSFORMS = (
    "scale",
    "softmax",
    "abs",
    "normalize",
    "symmetric",
    "triu",
    "tril",
    "transpose",
    "uniform",
    "rademacher",
)
MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
INPUT_KEYS = frozenset({"facts", "shape", "dtype", "range", "inits", "value"})
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NAME = re.compile(r"[A-Za-z_]\w*")
VARIANT_KEYS = frozenset(
    {"params", "dtype", "dims", "flop", "mem_bytes", "rtol", "atol", "memory_format"}
)


@dataclass(frozen=True)
class _Variant:
    category: str
    node: SpecNode
    fields: Mapping[str, SpecNode]

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs in the order of the arguments."""
        named = self.fields["params"].elements("'params'") if "params" in self.fields else ()
        return [item.word("an entry of 'params'") for item in named]


@dataclass
class Reader:
    """Reads variants against the spec's inputs and constructor arguments; collects warnings."""

    inputs: Mapping[str, SpecNode]
    inits: tuple[SpecNode, ...]
    warnings: list[str] = field(default_factory=list)
    between: Bounds = field(default_factory=dict)
    splits: Collection[Split] = ()
    multiples: Mapping[str, int] = field(default_factory=dict)

    def cases(self, category: str, variants: SpecNode) -> tuple[Case, ...]:
        """All cases of one category, list-of-dims expanded. Raises ProblemError with the line."""
        found: list[Case] = []
        for node in variants.elements(f"'{category}'"):
            variant = _Variant(category, node, node.fields(f"a variant of '{category}'"))
            self.unknown_keys(variant.fields, VARIANT_KEYS, f"a variant of '{category}'")
            for dims in self._dims_of(variant.fields):
                found.append(self._case(category, len(found), variant, dims))
        return tuple(found)

    def interpreted(
        self, category: str, variants: SpecNode, between: Bounds | None = None
    ) -> tuple[Case, ...]:
        """Cases of a category at extents that the interpreter finishes; none where they are so."""
        quiet = Reader(self.inputs, self.inits, between=between or {})
        found: list[Case] = []
        for node in variants.elements(f"'{category}'"):
            variant = _Variant(category, node, node.fields("a variant"))
            for dims in quiet._dims_of(variant.fields):
                small = quiet._bounded(variant, dims)
                name = category if small == dims else f"{category}-{SCALED}"
                case = quiet._case(name, len(found), variant, small)
                found.append(with_bounds(case, quiet.between))
        return tuple(found) if any(case.category != category for case in found) else ()

    def _bounded(self, variant: _Variant, dims: Mapping[str, Dim]) -> dict[str, Dim]:
        """Dimensions of a case that the interpreter finishes."""

        def work_of(some: Mapping[str, Dim]) -> float | None:
            case = self._readable(0, variant, some)
            return None if case is None else work(case)

        return scaled_dims(dims, work_of)

    def ragged(
        self, category: str, variants: SpecNode, between: Bounds | None = None
    ) -> Ragged | None:
        """Variants of a category's last case that has dimensions, at extents that fit no tile.

        ``between``: what plain numbers may be there.

        What the spec cannot be read with is left out: a formula may want a multiple of something.
        """
        quiet = Reader(self.inputs, self.inits, between=between or {})
        nodes = variants.elements(f"'{category}'")
        known = [_Variant(category, node, node.fields("a variant")) for node in nodes]
        every = [
            quiet._bounded(variant, dims)
            for variant in known
            for dims in quiet._dims_of(variant.fields)
        ]
        largest = _largest(every)
        for variant in reversed(known):
            dims = quiet._bounded(variant, quiet._dims_of(variant.fields)[-1])
            free = quiet._free(variant, dims)
            made = partial(quiet._alternatives, variant)
            steps, kept = self._steps(variant, dims, free)
            primes = made(0, ragged_dims(dims, free, largest, steps=steps))
            thin = [made(at, ways) for at, ways in enumerate(thin_dims(dims, free, steps=steps), 1)]
            alone = enumerate(single_dims(dims, free, steps), 1 + len(thin))
            single = tuple(case for at, one in alone for case in made(at, (one,)))
            reached = quiet._reached(variant, dims)
            far = made(1 + len(thin) + len(single), far_dims(dims, free, reached, steps=steps))
            tied = made(2 + len(thin) + len(single), tied_dims(every, dims, free, steps=steps))
            if primes or any(thin) or single:
                return Ragged(primes, tuple(filter(None, thin)), single, far, tied, kept)
        return None

    def _steps(
        self, variant: _Variant, dims: Mapping[str, Dim], free: frozenset[str]
    ) -> tuple[dict[str, int], tuple[str, ...]]:
        """What dimensions vary in multiples of, as the original divides them; a word on each."""
        steps: dict[str, int] = {}
        kept: dict[str, str] = {}
        for stated, multiple in self.multiples.items():
            extent = dims.get(stated)
            if stated in free and isinstance(extent, int) and extent % multiple == 0:
                steps[stated] = multiple
                kept[stated] = (
                    f"{stated} was varied in multiples of {multiple} alone, as the spec states"
                )
        steps, told = steps_of(self.splits, dims, free, partial(self._dim_of, variant), steps)
        return steps, tuple((kept | told).values())

    def _dim_of(self, variant: _Variant, extent: Extent) -> str | None:
        """The dimension that an extent of an input, or a constructor's argument, is."""
        if extent.axis is None:
            nodes = self.inits[extent.position : extent.position + 1]
            values = [*nodes[0].fields("an init").values()] if nodes and nodes[0].is_mapping else []
            return values[0].raw if values and values[0].is_word else None
        inputs = variant.inputs
        if extent.position >= len(inputs):
            return None
        shape = self._shape_of(inputs[extent.position])
        if not -len(shape) <= extent.axis < len(shape) or not shape[extent.axis].is_word:
            return None
        return shape[extent.axis].raw

    def _alternatives(
        self, variant: _Variant, index: int, ways: Iterable[Mapping[str, Dim]]
    ) -> tuple[Case, ...]:
        """Cases under one name."""
        cases = (self._readable(index, variant, dims) for dims in ways)
        return tuple(case for case in cases if case is not None)

    def _free(self, variant: _Variant, dims: Mapping[str, Dim]) -> frozenset[str]:
        """The dimensions that shapes of a variant's inputs are made of."""
        shapes = (item.raw for name in variant.inputs for item in self._shape_of(name))
        named = {word for text in shapes for word in _NAME.findall(text)}
        return frozenset(named & set(dims))

    def _reached(self, variant: _Variant, dims: Mapping[str, Dim]) -> frozenset[str]:
        """The dimensions that bound the range of an input: what its numbers are indices into."""
        found: set[str] = set()
        for name in variant.inputs:
            at = self.inputs[name].fields("an input")
            if "range" in at and at["range"].is_list and "shape" in at:
                found.update(bound.raw for bound in at["range"].elements("a range"))
        return frozenset(found & set(dims))

    def _shape_of(self, name: str) -> list[SpecNode]:
        fields = self.inputs[name].fields(f"input '{name}'")
        return list(fields["shape"].elements("a shape")) if "shape" in fields else []

    def _readable(self, index: int, variant: _Variant, dims: Mapping[str, Dim]) -> Case | None:
        try:
            case = self._case(f"{variant.category}-{RAGGED}", index, variant, dims)
            return with_bounds(case, self.between)
        except ProblemError:
            return None

    def unknown_keys(
        self, fields: Mapping[str, SpecNode], known: frozenset[str], what: str
    ) -> None:
        """Warn of keys that nothing reads."""
        for key, value in fields.items():
            if key not in known:
                choices = ", ".join(sorted(known))
                self.warnings.append(
                    value.note(f"unknown key '{key}' in {what} is ignored; known: {choices}")
                )

    def _dims_of(self, fields: Mapping[str, SpecNode]) -> list[dict[str, Dim]]:
        node = fields.get("dims")
        if node is None:
            return [{}]
        if node.is_list:
            sets = list(node.elements("'dims'"))
            if not sets:
                node.fail("'dims' is an empty list; give at least one mapping of dimensions")
            return [self._one_dims(item) for item in sets]
        return [self._one_dims(node)]

    def _one_dims(self, node: SpecNode) -> dict[str, Dim]:
        named = node.fields("'dims'").items()
        return {name: self._dim(value, f"dimension '{name}'") for name, value in named}

    def _dim(self, node: SpecNode, what: str) -> Dim:
        if not node.is_list:
            return self._dim_scalar(node, what)
        return tuple(
            tuple(self._dim_scalar(inner, what) for inner in item.elements(what))
            if item.is_list
            else self._dim_scalar(item, what)
            for item in node.elements(what)
        )

    def _dim_scalar(self, node: SpecNode, what: str) -> DimScalar:
        if node.is_list:
            node.fail(f"{what} is nested more than two lists deep")
        value = self._coerced(node, what)
        if value is None:
            node.fail(f"{what} has no value; give a number")
        return value

    def _coerced(self, node: SpecNode, what: str) -> Scalar:
        """The scalar; text that spells a number (1e-5 in YAML 1.1) becomes one, with a warning."""
        value = node.scalar()
        if not isinstance(value, str):
            return value
        if not _NUMBER.fullmatch(value):
            return value
        number: int | float = int(value) if value.strip("+-").isdigit() else float(value)
        self.warnings.append(
            node.note(f"{what}: YAML reads {value} as text; it is taken as the number {number!r}")
        )
        return number

    def _case(self, category: str, index: int, variant: _Variant, dims: Mapping[str, Dim]) -> Case:
        fields = variant.fields
        params = fields.get("params")
        if params is None:
            variant.node.fail("this variant has no 'params'; list the inputs in argument order")
        dtype = self._dtype(fields["dtype"]) if "dtype" in fields else None
        return Case(
            category=category,
            index=index,
            dims=dict(dims),
            dtype=dtype,
            inputs=self._params(params, dtype, dims),
            init_args=tuple(self._init(node, dims) for node in self.inits),
            flop=self._amount(fields.get("flop"), "flop", dims),
            mem_bytes=self._amount(fields.get("mem_bytes"), "mem_bytes", dims),
            memory_format=_memory_format(fields.get("memory_format")),
            rtol=self._tolerance(fields.get("rtol"), "rtol", Case.rtol),
            atol=self._tolerance(fields.get("atol"), "atol", Case.atol),
        )

    def _dtype(self, node: SpecNode) -> str:
        text = node.word("'dtype'")
        name = canonical_dtype(text)
        if name is None:
            node.fail(f"unknown dtype '{text}'; use one of {', '.join(DTYPE_BYTES)}, or inherit")
        if name != text:
            self.warnings.append(node.note(f"dtype '{text}' is taken as '{name}'"))
        return name

    def _tolerance(self, node: SpecNode | None, key: str, default: float) -> float:
        if node is None:
            return default
        value = self._coerced(node, f"'{key}'")
        if not is_number(value) or not 0 <= value <= LARGEST:
            node.fail(f"'{key}' must be a number that is not negative, not {value!r}")
        return float(value)

    def _amount(self, node: SpecNode | None, key: str, dims: Mapping[str, Dim]) -> float | None:
        if node is None:
            return None
        value = node.scalar()
        number = value if is_number(value) else formula(node, f"'{key}'", value, dims)
        if not 0 <= number <= LARGEST:
            node.fail(f"'{key}' comes to {number}; it must be a finite number, not negative")
        return float(number)

    def _params(
        self, node: SpecNode, dtype: str | None, dims: Mapping[str, Dim]
    ) -> tuple[Input, ...]:
        found: dict[str, Input] = {}
        for item in node.elements("'params'"):
            one = self._param(item, dtype, dims)
            if one.name in found:
                item.fail(f"'params' names '{one.name}' twice; give the other input its own name")
            found[one.name] = one
        return tuple(found.values())

    def _param(self, node: SpecNode, dtype: str | None, dims: Mapping[str, Dim]) -> Input:
        name = node.word("an entry of 'params'")
        if name not in self.inputs:
            known = ", ".join(self.inputs) or "none"
            node.fail(f"'params' names '{name}', which is not under 'inputs' (there: {known})")
        at = self.inputs[name]
        fields = at.fields(f"input '{name}'")
        if "value" in fields:
            return self._scalar_param(fields, name, dims)
        if "shape" not in fields:
            at.fail(f"input '{name}' has no 'shape'; give a list of dimensions, [] for a scalar")
        shape = tuple(
            extent_of(item, name, dims) for item in fields["shape"].elements(f"shape of '{name}'")
        )
        kind = self._input_dtype(at, fields.get("dtype"), name, dtype)
        low, high = range_of(fields.get("range"), name, kind, dims)
        transforms = _transforms(fields.get("inits"), name, shape)
        facts = facts_of(fields.get("facts"), name, is_integer=not is_floating(kind))
        return Input(name, shape, kind, low, high, transforms, facts=facts)

    def _scalar_param(
        self, fields: Mapping[str, SpecNode], name: str, dims: Mapping[str, Dim]
    ) -> Input:
        """A plain number, and the range that other values of it may come from."""
        value = self._plain(fields["value"], name, dims)
        if "range" not in fields:
            return Input(name, value=value)
        if not is_number(value):
            fields["range"].fail(f"'range' of '{name}' is of numbers, and its value is {value!r}")
        kind = "float32" if isinstance(value, float) else "int64"
        low, high = range_of(fields["range"], name, kind, dims)
        return Input(name, low=low, high=high, value=value)

    def _plain(
        self, node: SpecNode, name: str, dims: Mapping[str, Dim]
    ) -> int | float | bool | str:
        value = node.scalar() if node.is_quoted else self._coerced(node, f"value of '{name}'")
        if not node.is_quoted and node.raw in dims:
            dim = dims[node.raw]
            if isinstance(dim, tuple):
                node.fail(f"dimension '{node.raw}' is a list; a plain argument is a single number")
            return dim
        if value is None:
            node.fail(f"the value of '{name}' is empty; give a number, a truth value or a word")
        return value

    def _input_dtype(
        self, at: SpecNode, node: SpecNode | None, name: str, variant: str | None
    ) -> str:
        if node is None:
            if variant is None:
                at.fail(f"input '{name}' has no 'dtype', and neither has the variant; give one")
            self.warnings.append(at.note(f"input '{name}' has no 'dtype'; the variant's is used"))
            return variant
        if node.word("'dtype'") != "inherit":
            return self._dtype(node)
        if variant is None:
            node.fail(f"input '{name}' inherits its dtype, but the variant gives no 'dtype'")
        return variant

    def _init(self, node: SpecNode, dims: Mapping[str, Dim]) -> Dim:
        if not node.is_mapping:
            return self._init_value(node, dims)
        fields = node.fields("an entry of 'inits'")
        if len(fields) != 1:
            node.fail("an entry of 'inits' is one name and one dimension, such as {dim: N}")
        return self._init_value(next(iter(fields.values())), dims)

    def _init_value(self, node: SpecNode, dims: Mapping[str, Dim]) -> Dim:
        if node.is_list:
            return self._dim(node, "an entry of 'inits'")
        raw = node.raw
        if raw in dims:
            return dims[raw]
        value = self._coerced(node, "'inits'")
        if value is None or isinstance(value, str):
            known = ", ".join(dims) or "none"
            node.fail(f"'inits' names the dimension '{raw}', which is missing (there: {known})")
        return value


def _largest(sets: Iterable[Mapping[str, Dim]]) -> dict[str, int]:
    """The largest whole number that each dimension has in any of several sets."""
    found: dict[str, int] = {}
    for dims in sets:
        for name, value in dims.items():
            if isinstance(value, int) and not isinstance(value, bool):
                found[name] = max(value, found.get(name, value))
    return found


def _transforms(node: SpecNode | None, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    if node is None:
        return ()
    found: list[str] = []
    for item in node.elements(f"'inits' of '{name}'"):
        transform = item.word(f"a transform of '{name}'")
        if transform not in TRANSFORMS:
            item.fail(f"unknown transform '{transform}'; use one of {', '.join(TRANSFORMS)}")
        _check_rank(item, transform, name, shape)
        found.append(transform)
    return tuple(found)


def _check_rank(item: SpecNode, transform: str, name: str, shape: tuple[int, ...]) -> None:
    if transform in ("symmetric", "triu", "tril", "transpose") and len(shape) != 2:
        item.fail(f"'{transform}' needs a matrix; '{name}' has {len(shape)} dimensions")
    if transform == "symmetric" and shape[0] != shape[1]:
        item.fail(f"'symmetric' needs a square matrix; '{name}' is {shape[0]} x {shape[1]}")


def _memory_format(node: SpecNode | None) -> str | None:
    if node is None:
        return None
    name = node.word("'memory_format'").removeprefix("torch.")
    if name not in MEMORY_FORMATS:
        node.fail(f"unknown memory_format '{name}'; use one of {', '.join(MEMORY_FORMATS)}")
    return name
