"""Another name for a constexpr in all its places; refused where they are not certain."""

import ast
import keyword
import unicodedata

from tilewright.navigation.model import Refusal, Uses
from tilewright.navigation.parameters import parameter_uses
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module

# Names that Triton takes from a launch or a configuration for itself.
_TAKEN = frozenset(
    ("num_warps", "num_stages", "num_ctas", "maxnreg", "grid", "warmup", "stream", "debug")
)


def renamable(
    module: Module, kernel: Kernel, name: str, *, decorated: bool = False
) -> Uses | Refusal:
    """The places of a constexpr, or why they cannot all be known.

    Args:
        decorated: decorators that are not Triton's are known to use no name of a parameter.
    """
    parameter = kernel.parameter(name)
    if parameter is None or not parameter.is_constexpr:
        return Refusal(f"{name} is not a constexpr of {kernel.name}")
    if module.problems:
        line = module.problems[0].range.line
        return Refusal(f"line {line} does not parse, so uses of {name} may be hidden there")
    if len(module.lookup.named[kernel.name]) > 1:
        return Refusal(f"there are several kernels called {kernel.name}")
    if kernel.other_decorators and not decorated:
        return Refusal(
            f"the decorator {kernel.other_decorators[0]} may use the names of the parameters"
        )
    found = parameter_uses(module, kernel, name)
    if found.obstacles:
        first = found.obstacles[0]
        return Refusal(f"line {first.line}: {first.reason}")
    return found


def rename(
    module: Module, kernel: Kernel, name: str, new: str, *, decorated: bool = False
) -> Uses | Refusal:
    """The places to write the new name at; ``decorated`` as for ``renamable``.

    The changed text is parsed again: it must have the new name in the same places.
    """
    found = renamable(module, kernel, name, decorated=decorated)
    if isinstance(found, Refusal) or new == name:
        return found
    wrong = _unusable(new) or _collision(module, kernel, new)
    if wrong is not None:
        return Refusal(wrong)
    changed = parse_module(renamed_text(module, found, new), module.path)
    again = next((k for k in changed.kernels if k.qualified_name == kernel.qualified_name), None)
    if again is None or again.parameter(new) is None:
        return Refusal(f"{kernel.name} could not be read with the name {new}")
    after = parameter_uses(changed, again, new)
    roles = [use.role for use in found.uses]
    if after.obstacles or [use.role for use in after.uses] != roles:
        return Refusal(f"{new} would be taken for something else")
    return found


def renamed_text(module: Module, found: Uses, new: str) -> str:
    """The text with another name in all places."""
    text = module.text
    for use in reversed(found.uses):
        place = use.range
        start = module.index.offset(place.line, place.column)
        end = module.index.offset(place.end_line, place.end_column)
        text = text[:start] + new + text[end:]
    return text


def _unusable(new: str) -> str | None:
    if not new.isidentifier() or keyword.iskeyword(new):
        return f"{new!r} is not a name in Python"
    if unicodedata.normalize("NFKC", new) != new:
        return f"Python reads {new!r} as {unicodedata.normalize('NFKC', new)!r}"
    if new.startswith("__"):
        return f"{new!r} is a name that Python treats in a special way"
    return f"{new} is an option of the compiler" if new in _TAKEN else None


def _collision(module: Module, kernel: Kernel, new: str) -> str | None:
    if kernel.parameter(new) is not None:
        return f"{kernel.name} has a parameter {new} already"
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.Name) and node.id == new:
            return f"{new} has another meaning on line {node.lineno}"
        if isinstance(node, ast.arg) and node.arg == new:
            return f"{new} is a parameter of a function on line {node.lineno}"
    for launch in module.launches_of(kernel.name):
        if new in launch.options:
            return f"the launch on line {launch.range.line} gives an option {new}"
    configs = kernel.autotune.configs if kernel.autotune is not None else None
    if any(new in config.options for config in configs or ()):
        return f"a configuration has an option {new}"
    return None
