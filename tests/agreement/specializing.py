"""One specialization of a jit function: types and constants of its parameters, and its TTIR."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from recording import Recording, recorded
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from tilewright.targets.model import ArgumentFacts, LaunchFacts
from tilewright.worker.launches.hooks import encode

CONSTEXPR = "constexpr"
TARGET = GPUTarget("cuda", 90, 32)


@dataclass(frozen=True)
class Argument:
    """One parameter: a Triton type ("*fp16", "i32"), or a constant."""

    name: str
    type: str
    constant: Any = None


@dataclass(frozen=True)
class Specialization:
    """What is given for every parameter, in signature order."""

    arguments: tuple[Argument, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def source(self, function: Any) -> ASTSource:
        """What the compiler is given."""
        signature = {a.name: a.type for a in self.arguments}
        constants = {a.name: a.constant for a in self.arguments if a.type == CONSTEXPR}
        return ASTSource(function, signature, constants)

    def launch(self, kernel: str) -> LaunchFacts:
        """What the analysis is given: the same facts, as a captured launch states them."""
        return LaunchFacts(kernel, (), tuple(map(_facts, self.arguments)))

    def __str__(self) -> str:
        return ", ".join(
            f"{a.name}={a.constant!r}" if a.type == CONSTEXPR else f"{a.name}: {a.type}"
            for a in self.arguments
        )


def _facts(argument: Argument) -> ArgumentFacts:
    if argument.type == CONSTEXPR and argument.constant is None:
        return ArgumentFacts(argument.name, "none", CONSTEXPR)
    if argument.type == CONSTEXPR:
        return ArgumentFacts(argument.name, CONSTEXPR, CONSTEXPR, encode(argument.constant))
    kind = "tensor" if argument.type.startswith(("*", "tensordesc")) else "int"
    return ArgumentFacts(
        argument.name, "float" if argument.type.startswith("fp") else kind, argument.type
    )


def build_ttir(function: Any, specialization: Specialization) -> tuple[Any, Recording]:
    """The TTIR module of a jit function, and what its expressions became; no device is used.

    Raises whatever the compiler's front end raises.
    """
    backend = make_backend(TARGET)
    options = backend.parse_options(dict(specialization.options))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with recorded() as recording:
        module = specialization.source(function).make_ir(
            TARGET,
            options,
            backend.get_codegen_implementation(options),
            backend.get_module_map(),
            context,
        )
    return module, recording
