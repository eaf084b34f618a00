"""Host expressions of a captured launch over names of constexprs, all else as it was recorded."""

import ast
from collections.abc import Sequence

from tilewright.problems.model import LaunchCase
from tilewright.source.host import last_assigned
from tilewright.source.host_numbers import HostNumbers
from tilewright.source.model import Launch, Module


class CapturedNumbers(HostNumbers):
    """What the record of a launch says of its arguments. A constant in the text stays that."""

    def __init__(self, module: Module, launch: Launch, call: LaunchCase) -> None:
        super().__init__(module, launch)
        self._values = call.values
        self._views = {view.name: view for view in call.views}
        kernel = module.kernel(launch.kernel)
        self._constexprs = frozenset(kernel.constexprs if kernel else ())

    def known(self, node: ast.expr, chosen: frozenset[str]) -> str | None:
        if not isinstance(node, ast.Name) or node.id in chosen:
            return node.id if isinstance(node, ast.Name) else None
        for parameter, given in self.launch.arguments.items():
            if isinstance(given, ast.Name) and given.id == node.id:
                if parameter in self._constexprs and self._is_open(given):
                    return parameter
                value = self._values.get(parameter)
                if type(value) is int and parameter not in self._constexprs:
                    return str(value)
        return None

    def extents(self, parameter: str, attribute: str) -> Sequence[int] | None:
        view = self._views.get(parameter)
        if view is None:
            return None
        return view.shape if attribute == "shape" else view.strides

    def _is_open(self, given: ast.Name) -> bool:
        """Whether a constexpr's host name has no value of its own in the text."""
        found = last_assigned(self.module, self.launch, given.id)
        return found is None or not isinstance(found.value, ast.Constant)
