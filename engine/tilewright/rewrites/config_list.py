"""Leaving out some of an autotuned kernel's configurations."""

import ast
from collections.abc import Collection

from tilewright.rewrites.configs import autotune_call, configs_node
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.model import Refusal
from tilewright.source.model import Kernel, Module


def drop_configs(module: Module, kernel: Kernel, dropped: Collection[int]) -> str | Refusal:
    """The file with the configurations at these positions taken out of the kernel's list."""
    call = autotune_call(module, kernel)
    node = configs_node(call) if call is not None else None
    if not isinstance(node, ast.List):
        return Refusal("the autotune configurations are not written as a list")
    kept = [position for position in range(len(node.elts)) if position not in dropped]
    if not kept:
        return Refusal("no configuration would be left")
    patch = Patch(module)
    spans = [patch.span(element) for element in node.elts]
    for position in sorted(dropped):
        if position < kept[-1]:
            patch.splice(spans[position][0], spans[position + 1][0], "")
    if kept[-1] < len(spans) - 1:
        patch.splice(spans[kept[-1]][1], spans[-1][1], "")
    return patch.apply()
