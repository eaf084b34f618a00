"""Reading and writing ``triton.autotune`` decorators and ``triton.Config`` calls."""

import ast
from collections.abc import Collection, Mapping

from tilewright.rewrites.calls import literal, local_name
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import RefusedError, refusal_returned
from tilewright.rewrites.scope import keyword
from tilewright.source.model import Kernel, Module

Value = int | float | bool | str
CONFIG_KEYWORDS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""Options that ``triton.Config`` takes by keyword; all others go in its dict."""
_AUTOTUNE = ("triton.autotune", "triton.runtime.autotune", "triton.runtime.autotuner.autotune")
_CONFIG = ("triton.Config", "triton.runtime.Config", "triton.runtime.autotuner.Config")


def autotune_call(module: Module, kernel: Kernel) -> ast.Call | None:
    """The kernel's ``triton.autotune(...)`` decorator."""
    for node in kernel.node.decorator_list:
        if isinstance(node, ast.Call) and module.names.resolve(node.func) in _AUTOTUNE:
            return node
    return None


def configs_node(call: ast.Call) -> ast.expr | None:
    """The expression of an autotune decorator's configurations."""
    found = keyword(call, "configs")
    return found.value if found else (call.args[0] if call.args else None)


def config_calls(module: Module, kernel: Kernel) -> list[ast.Call] | None:
    """The ``triton.Config({...})`` calls of a literal list; None where it is not one."""
    call = autotune_call(module, kernel)
    node = configs_node(call) if call is not None else None
    if not isinstance(node, ast.List):
        return None
    calls = [c for c in node.elts if isinstance(c, ast.Call)]
    plain = [
        c
        for c in calls
        if module.names.resolve(c.func) in _CONFIG and c.args and isinstance(c.args[0], ast.Dict)
    ]
    return plain if plain and len(plain) == len(node.elts) else None


def config_source(module: Module, values: Mapping[str, Value], options: Mapping[str, Value]) -> str:
    """``triton.Config({...}, num_warps=...)``; backend options join the constexprs."""
    inside = {**values, **{n: v for n, v in options.items() if n not in CONFIG_KEYWORDS}}
    outside = {n: v for n, v in options.items() if n in CONFIG_KEYWORDS}
    body = ", ".join(f'"{name}": {literal(value)}' for name, value in inside.items())
    words = "".join(f", {name}={literal(value)}" for name, value in outside.items())
    return f"{local_name(module, 'triton.Config')}({{{body}}}{words})"


@refusal_returned
def drop_configs(module: Module, kernel: Kernel, dropped: Collection[int]) -> str:
    """The file with the configurations at these positions taken out of the kernel's list."""
    call = autotune_call(module, kernel)
    node = configs_node(call) if call is not None else None
    if not isinstance(node, ast.List):
        raise RefusedError("the autotune configurations are not written as a list")
    kept = [position for position in range(len(node.elts)) if position not in dropped]
    if not kept:
        raise RefusedError("no configuration would be left")
    patch = Patch(module)
    spans = [patch.span(element) for element in node.elts]
    for position in sorted(dropped):
        if position < kept[-1]:
            patch.splice(spans[position][0], spans[position + 1][0], "")
    if kept[-1] < len(spans) - 1:
        patch.splice(spans[kept[-1]][1], spans[-1][1], "")
    return patch.apply()
