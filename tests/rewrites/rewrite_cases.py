"""Golden files of the rewrites: a header of comments says what is rewritten and what is known.

# rewrite: the rewrite's name
# at: the text that the issue underlines
# facts: parameter=*fp16 parameter=*fp32:ROWSxCOLUMNS parameter=4096   (the captured launch)
# grid: 16 16
# entry: x=*fp32:1024x512   (the problem's arguments, of a kernel that is called itself)
# target: cuda:90
# triton: 3.5
# refuses: words of the reason
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.analysis.model import AnalysisContext, EntryFacts, Issue
from tilewright.knowledge.stages import Stage
from tilewright.rewrites import Refusal, Rewrite, all_rewrites
from tilewright.source import Module, parse_module
from tilewright.source.text import Range
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"


@dataclass(frozen=True)
class RewriteCase:
    """One golden file."""

    path: Path
    header: Mapping[str, str]
    module: Module
    context: AnalysisContext

    @property
    def rewrite(self) -> Rewrite:
        return next(r for r in all_rewrites() if r.name == self.header["rewrite"])

    def issue(self) -> Issue:
        return issue_at(self.module, self.rewrite.issue, self.header["at"])

    def apply(self) -> str | Refusal:
        return self.rewrite.apply(self.module, self.issue(), self.context)


def read_case(path: Path) -> RewriteCase:
    """A golden file with its header understood."""
    text = path.read_text()
    header: dict[str, str] = {}
    for line in text.splitlines():
        if not line.startswith("# ") or ": " not in line:
            break
        name, _, value = line[2:].partition(": ")
        header[name] = value
    module = parse_module(text, str(path))
    return RewriteCase(path, header, module, context_of(header, module))


def context_of(header: Mapping[str, str], module: Module) -> AnalysisContext:
    """What the header says is known."""
    backend, _, arch = header.get("target", "").partition(":")
    version = tuple(int(part) for part in header.get("triton", "").split(".") if part)
    grid = tuple(int(part) for part in header.get("grid", "").split())
    facts = header.get("facts", "").split()
    kernels = [k.name for k in module.kernels]
    return AnalysisContext(
        target=Target(backend, arch) if backend else None,
        triton_version=(version[0], version[1]) if version else None,
        launches=(launch(kernels[0], facts, grid),) if facts else (),
        entry=entry(kernels[0], header["entry"].split()) if "entry" in header else None,
    )


def launch(kernel: str, facts: list[str], grid: tuple[int, ...] = ()) -> LaunchFacts:
    """A captured launch from words such as ``x_ptr=*fp16`` and ``n=4096``."""
    return LaunchFacts(kernel, grid or (64, 64), tuple(_argument(word) for word in facts))


def entry(kernel: str, words: list[str]) -> EntryFacts:
    """What a problem says of the kernel that it calls."""
    return EntryFacts(kernel, tuple(_argument(word) for word in words))


def _argument(word: str) -> ArgumentFacts:
    name, _, value = word.partition("=")
    if not value.startswith("*"):
        return ArgumentFacts(name, "int", "i32", int(value))
    kind, _, extents = value.partition(":")
    shape = tuple(int(e) for e in extents.split("x") if e) or None
    strides = (shape[1], 1) if shape and len(shape) == 2 else None
    return ArgumentFacts(name, "tensor", kind, None, shape, strides)


def issue_at(module: Module, issue_id: str, text: str) -> Issue:
    """An issue whose range is a stretch of the module's text (not in the header)."""
    start = module.text.index(text, module.text.index("import "))
    end = start + len(text)
    where = Range(*_place(module.text, start), *_place(module.text, end))
    return Issue(issue_id, Stage.ALGORITHMIC, 3, "", None, where)


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1)


def example(name: str) -> Module:
    """One of the repository's example kernels."""
    path = EXAMPLES / f"{name}.py"
    return parse_module(path.read_text(), str(path))


EXAMPLE_FACTS: Mapping[str, list[str]] = {
    "matmul": [
        *("a_ptr=*fp16", "b_ptr=*fp16", "c_ptr=*fp16", "M=4096", "N=4096", "K=4096"),
        *("stride_am=4096", "stride_ak=1", "stride_bk=4096", "stride_bn=1"),
        *("stride_cm=4096", "stride_cn=1"),
    ],
    "linear_gelu": [
        *("x_ptr=*fp16", "w_ptr=*fp16", "b_ptr=*fp16", "y_ptr=*fp16"),
        *("M=4096", "N=4096", "K=4096", "stride_xk=1", "stride_wk=1", "stride_yn=1"),
    ],
    "softmax": ["x_ptr=*fp32", "y_ptr=*fp32", "n_cols=8192", "stride_x=8192", "stride_y=8192"],
    "layernorm": [
        *("x_ptr=*fp16", "weight_ptr=*fp16", "bias_ptr=*fp16", "y_ptr=*fp16"),
        *("n_cols=4096", "stride_x=4096", "stride_y=4096"),
    ],
}


def example_context(name: str, target: str = "cuda:90") -> AnalysisContext:
    """What is known of an example at its benchmark's shape."""
    backend, _, arch = target.partition(":")
    facts = launch(f"{name}_kernel", EXAMPLE_FACTS[name])
    return AnalysisContext(Target(backend, arch), (3, 9), (facts,))
