"""Arguments that an instruction does not take, given in a form it takes."""

import ast
import re
from collections.abc import Sequence

from tilewright.analysis.nki import Memory, Operation, View
from tilewright.analysis.nki.catalogue import ISA, NL
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.knowledge.nki import nki_interface
from tilewright.rewrites.calls import append_keywords, literal, local_name, remove_keywords
from tilewright.rewrites.model import Numerics, RefusedError, rewrite
from tilewright.rewrites.nki.sites import Site, at_site, moved
from tilewright.rewrites.scope import argument, keyword

_NARROWER = {"float64": "float32", "int64": "int32", "uint64": "uint32"}
_PAIRS = {
    ISA + "tensor_tensor": "data2",
    ISA + "tensor_tensor_scan": "data1",
}
_PROGRAM = ("nki.language.program_id", "nki.language.num_programs", "nki.language.program_ndim")
_LANES = 128


def _calls(site: Site) -> list[ast.Call]:
    return [node for node in ast.walk(site.kernel.node) if isinstance(node, ast.Call)]


@rewrite("nki_engine_cannot_run", "Let the compiler choose the engine", Numerics.EXACT)
@at_site
def drop_engine(site: Site) -> None:
    """Let the compiler choose the engine."""
    value = site.node(ast.expr)
    for call in _calls(site):
        given = keyword(call, "engine")
        if given is not None and given.value is value:
            remove_keywords(site.patch, call, ("engine",))
            return
    raise moved()


@rewrite("nki_activation_bias", "Make a column of the bias", Numerics.EXACT)
@at_site
def bias_column(site: Site) -> None:
    """Make a column of a bias that is a number."""
    if not site.flow.is_older:
        raise RefusedError("in the nki package a column is a tensor that memset writes to")
    bias = site.node(ast.expr)
    owner = next((c for c in _calls(site) if (k := keyword(c, "bias")) and k.value is bias), None)
    operation = next((o for o in site.flow.operations if o.node is owner), None)
    if bias is None or operation is None or isinstance(bias, ast.Call):
        raise moved()
    sides = site.flow.numbers(getattr(operation.operands.get("data"), "shape", None))
    if not sides or sides[0] is None:
        raise RefusedError("the number of partitions of the data is not known")
    memset = local_name(site.module, ISA + "memset")
    dtype = local_name(site.module, NL + "float32")
    site.patch.replace(bias, f"{memset}(({sides[0]}, 1), {site.source(bias)}, dtype={dtype})")


@rewrite("nki_wrong_memory", "Bring the operand to where the instruction reads", Numerics.EXACT)
@at_site
def reach_operand(site: Site) -> None:
    """Bring an operand to a memory that the instruction reads."""
    if not site.flow.is_older:
        raise RefusedError("in the nki package a copy needs a tensor of its own to write to")
    statement = site.node(ast.stmt)
    for operation in site.operations(statement):
        done = _transfer(site, operation) or _operand(site, operation)
        if done:
            return
    raise RefusedError("no copy brings this operand to where the instruction reads")


def _transfer(site: Site, operation: Operation) -> bool:
    """A load or store between tiles is a copy or an assignment."""
    node = operation.node
    if operation.name == NL + "load" and _on_chip(operation.operands.get("src")):
        assert isinstance(node, ast.Call)
        site.patch.replace(node.func, local_name(site.module, NL + "copy"))
        return True
    if operation.name != NL + "store" or not _on_chip(operation.operands.get("dst")):
        return False
    assert isinstance(node, ast.Call)
    target, value = argument(node, 0, "dst"), argument(node, 1, "value")
    mask = keyword(node, "mask")
    if target is None or value is None or not isinstance(operation.statement, ast.Expr):
        return False
    if mask is not None and not isinstance(mask.value, ast.Constant):
        return False
    place = site.source(target)
    place = place if isinstance(target, ast.Subscript) else f"{place}[...]"
    site.patch.replace(operation.statement, f"{place} = {site.source(value)}")
    return True


def _operand(site: Site, operation: Operation) -> bool:
    """Load an operand from HBM, or copy it out of PSUM."""
    for name in _unreachable(operation):
        view, node = operation.operands.get(name), operation.given.get(name)
        if view is None or node is None:
            continue
        wrapper = "copy" if view.memory is Memory.PSUM else "load"
        sides = site.flow.numbers(view.shape)
        if wrapper == "load" and not (sides and sides[0] is not None and sides[0] <= _LANES):
            continue
        function = local_name(site.module, NL + wrapper)
        site.patch.replace(node, f"{function}({site.source(node)})")
        return True
    return False


def _unreachable(operation: Operation) -> Sequence[str]:
    """Parameters whose tensor lies where the instruction cannot read it."""
    if not operation.name.startswith(ISA):
        return ()
    memories = {name: view.memory for name, view in operation.operands.items()}
    refused = [name for name, memory in memories.items() if memory is Memory.HBM]
    if operation.name == ISA + "nc_matmul":
        sides = ("stationary", "moving")
        return [*refused, *(n for n in sides if memories.get(n) is Memory.PSUM)]
    second = _PAIRS.get(operation.name)
    both = [memory for name, memory in memories.items() if name.startswith("data")]
    if second is not None and both == [Memory.PSUM, Memory.PSUM]:
        return [*refused, second]
    return refused


def _on_chip(view: View | None) -> bool:
    return view is not None and view.memory in (Memory.SBUF, Memory.PSUM)


@rewrite("nki_dtype_64_bit", "Take the 32-bit type", Numerics.PRECISION_REDUCING)
@at_site
def narrow_64_bit(site: Site) -> None:
    """Take the widest type that a NeuronCore has."""
    match node := site.node(ast.expr):
        case ast.Attribute(attr=name, value=owner) if name in _NARROWER:
            site.patch.replace(node, f"{site.source(owner)}.{_NARROWER[name]}")
        case ast.Constant(value=str(name)) if name in _NARROWER:
            site.patch.replace(node, literal(_NARROWER[name]))
        case _:
            raise RefusedError("the type is not written out here")


@rewrite("nki_nested_launch", "Call the kernel without a grid", Numerics.EXACT)
@at_site
def drop_grid(site: Site) -> None:
    """Call a kernel inside of another as a function."""
    call = site.node(ast.Call)
    if call is None or not isinstance(call.func, ast.Subscript):
        raise moved()
    name = call.func.value
    inner = site.module.kernel(name.id) if isinstance(name, ast.Name) else None
    if inner is None:
        raise moved()
    for node in ast.walk(inner.node):
        if isinstance(node, ast.Call) and site.module.names.resolve(node.func) in _PROGRAM:
            raise RefusedError(
                f"{inner.name} asks for its place in the grid; pass it as an argument"
            )
    site.patch.replace(call.func, inner.name)


@rewrite("nki_silent_widening", "Keep the type of the tile", Numerics.PRECISION_REDUCING)
@at_site
def state_type(site: Site) -> None:
    """Keep the type of the tile."""
    call = site.node(ast.Call)
    operation = next((o for o in site.flow.operations if call is not None and o.node is call), None)
    if call is None or operation is None:
        raise RefusedError("an operator has no place for a type; write it as a function of nl")
    name, view = next(iter(operation.operands.items()), ("", None))
    node = operation.given.get(name)
    if view is None or view.dtype is None or node is None or keyword(call, "dtype") is not None:
        raise moved()
    named = node.id if isinstance(node, ast.Name) else None
    dtype = f"{named}.dtype" if named else local_name(site.module, NL + view.dtype)
    append_keywords(site.patch, call, [f"dtype={dtype}"])


@rewrite("nki_unknown_name", "Spell the name as the package does", Numerics.EXACT)
@at_site
def spell_name(site: Site) -> None:
    """Spell a name as the package does."""
    node = site.node(ast.Attribute)
    dotted = site.module.names.resolve(node) if node is not None else None
    flavour = flavour_of(site.module)
    if node is None or dotted is None or flavour is None:
        raise moved()
    offers = nki_interface(flavour.value).names
    same = [n for n in offers if _letters(n) == _letters(dotted)]
    if len(same) != 1:
        raise RefusedError("no name of the package differs from it in case and underscores alone")
    site.patch.replace(node, local_name(site.module, same[0]))


def _letters(dotted: str) -> str:
    owner, _, name = dotted.rpartition(".")
    return f"{owner}.{re.sub('_', '', name).lower()}"
