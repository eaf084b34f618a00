"""What a kernel does with the memory behind each of its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.analysis.flow import flow_of
from tilewright.analysis.values import Flow, Value
from tilewright.source.model import Kernel, Module

_KNOWN = ("triton.language.", "triton.cdiv")
_ADDRESSES = ("triton.language.make_block_ptr", "triton.language.make_tensor_descriptor")


@dataclass(frozen=True)
class Role:
    """What happens to a parameter's memory in a kernel; ``is_sure`` that nothing else does."""

    reads: bool = False
    writes: bool = False
    atomics: bool = False
    is_sure: bool = True

    @property
    def only_reads(self) -> bool:
        return self.is_sure and self.reads and not self.writes

    @property
    def only_writes(self) -> bool:
        return self.is_sure and self.writes and not self.reads and not self.atomics


def roles_of(module: Module, kernel: Kernel) -> Mapping[str, Role]:
    """The role of each parameter that memory is accessed through."""
    flow = flow_of(module, kernel)
    roles: dict[str, Role] = {}
    for access in flow.accesses:
        bases = [access.base] if access.base is not None else _parameters(access.pointer)
        for base in bases:
            role = roles.get(base, Role())
            roles[base] = Role(
                reads=role.reads or access.kind != "store",
                writes=role.writes or access.kind != "load",
                atomics=role.atomics or access.kind == "atomic",
                is_sure=role.is_sure and access.base is not None,
            )
    for name in _handed_on(flow):
        roles[name] = replace(roles.get(name, Role()), is_sure=False)
    return roles


def _handed_on(flow: Flow) -> set[str]:
    """Parameters whose address goes to code that is not seen here, or into a descriptor."""
    found: set[str] = set()
    accesses = {flow.values.get(access.node) for access in flow.accesses}
    for value in set(flow.values.values()) - accesses:
        is_foreign = value.op == "call" and not str(value.detail).startswith(_KNOWN)
        if value.op in ("opaque", "method", "tuple") or is_foreign or value.is_call(*_ADDRESSES):
            for operand in value.operands:
                found.update(_parameters(operand))
    return found


def _parameters(pointer: Value) -> set[str]:
    """Parameters that may be the base of an address."""
    found: set[str] = set()
    pending, seen = [pointer], set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen or value.op in ("load", "compare", "dot"):
            continue
        seen.add(id(value))
        if value.op == "param":
            found.add(str(value.detail))
        pending.extend(value.operands)
    return found
