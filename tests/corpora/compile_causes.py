"""Why a kernel does not compile, told by what the compiler or Tilewright said of it."""

import re
from dataclasses import dataclass

CHIP = "The chip cannot"
GONE = "Triton 3.9 has it no more"
OLD = "Triton for Intel is 3.3, and too old"
KERNEL = "The kernel, as it is written"
COMPILER = "The compiler fails"
GUESS = "Our inference: no launch was captured, and none that we tried holds"
LIMIT = "Our limits"
TIME = "Not done within 45 s"
GROUPS = (CHIP, GONE, OLD, KERNEL, COMPILER, GUESS, LIMIT, TIME)


@dataclass(frozen=True)
class Cause:
    """One reason, in a group of them."""

    group: str
    what: str


# The first that fits a message.
_CAUSES = (
    (r"^timeout", TIME, "stopped; the machine was busy with other work"),
    (r"Block pointers have been removed", GONE, "block pointers"),
    (r"has no attribute '(make_)?tensor_descriptor|no attribute 'make_tensor|takes tensor desc",
     OLD, "tensor descriptors, which need 3.4"),
    (r"does not know|triton-xpu [\d.\w]+ (says|is older)|(knows all of|supports) this file", OLD,
     "another part of the language that came later"),
    (r"'dtype' object is not callable", KERNEL, "`tl.float32(...)` is no conversion in Triton"),
    (r"CUDA __nv_\w+ device function", KERNEL, "calls NVIDIA's device library by its name"),
    (r"unsupported AST node|Unsupported language", KERNEL, "Python that Triton does not take"),
    (r"'NoneType' object has no attribute", KERNEL, "needs an extension of Triton, not installed"),
    (r"has no @triton.jit kernel", KERNEL, "is only defined where an extension is installed"),
    (r"has no yaml", LIMIT,
     "the package reads YAML as it is imported; Triton for Intel's environment has no `yaml`"),
    (r"without (what|line)|without the statements|has no \w+, and without|stand-ins", LIMIT,
     "the file needs a package that Triton for Intel's own environment lacks"),
    (r"shared memory", CHIP, "more shared memory than there is"),
    (r"scratch space exceeds", CHIP, "spills more than scratch space takes"),
    (r"work items|sub-groups a program", CHIP, "more warps than it takes"),
    (r"fp8|fp64|float8|f64 |f8E", CHIP, "an element type that it has not"),
    (r"asm|ptx", CHIP, "inline PTX"),
    (r"tt\.\w+' op inferred|failed to legalize|PassManager|MLIR|LLVM|crashed", COMPILER,
     "an operation or a pass of Triton's own"),
    (r"^ocloc:", COMPILER, "ocloc refuses the SPIR-V"),
    (r"static_assert", GUESS, "a constexpr that the kernel forbids"),
    (r"same dtype|ptr type|Expected dtype|[Bb]itcast|invalid operands|offsets, but got", GUESS,
     "another element type or shape"),
    (r"is not defined|power of 2|arange's|no attribute 'value'", GUESS,
     "another constexpr, or one that is to be None"),
)  # fmt: skip


def cause(said: str) -> Cause:
    """What a message is put down to."""
    for pattern, group, what in _CAUSES:
        if re.search(pattern, said):
            return Cause(group, what)
    return Cause(COMPILER, shortened(said, 90))


def shortened(said: str, most: int = 110) -> str:
    """A message in one line that fits a table."""
    plain = re.sub(r"\s+", " ", said).replace("|", "/").replace("`", "'")
    plain = re.sub(r"/\S*/(\w+\.py)", r"\1", plain).strip()
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"
