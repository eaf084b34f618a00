"""NKI kernels for tests of instruction streams and estimates; the tests give the sizes."""

from tilewright.analysis.nki import Given, TensorGiven, launched_flow
from tilewright.analysis.nki.flow import Flow
from tilewright.costs.nki.stream import Stream, instruction_stream
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.worker.messages.nki import InstructionRecord

IMPORTS = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim
"""

MATMUL = """
@nki.jit
def matmul(lhs, rhs):
    rows, depth = lhs.shape
    columns = rhs.shape[1]
    out = nl.ndarray((rows, columns), dtype=lhs.dtype, buffer=nl.shared_hbm)
    ones = nl.load(nl.shared_constant(np.identity(128, dtype=np.float32))[0:128, 0:128])
    for n in nl.affine_range(columns // 512):
        for m in nl.affine_range(rows // 128):
            total = nl.zeros((par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // 128):
                left = nl.load(lhs[m * 128:(m + 1) * 128, k * 128:(k + 1) * 128])
                turned = nl.copy(nisa.nc_matmul(left, ones, is_transpose=True))
                right = nl.load(rhs[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])
                total += nisa.nc_matmul(turned, right)
            nl.store(out[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512], nl.copy(total))
    return out
"""

MASKED = """
@nki.jit
def doubled(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    p = nl.arange(128)[:, None]
    f = nl.arange(512)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        for j in nl.affine_range((columns + 511) // 512):
            inside = (128 * i + p < rows) & (512 * j + f < columns)
            tile = nl.load(x[128 * i + p, 512 * j + f], mask=inside)
            nl.store(out[128 * i + p, 512 * j + f], nl.add(tile, tile, mask=inside), mask=inside)
    return out
"""

ROWS = """
@nki.jit
def scaled_rows(x, weight, scale=2.0):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.load(weight[0:1, 0:columns])
    for i in nl.affine_range(rows // 128):
        tile = nl.load(x[i * 128:(i + 1) * 128, 0:columns])
        wide = nl.multiply(tile, row.broadcast_to((128, columns)))
        raised = nisa.activation(nl.exp, wide)
        total = nl.sum(raised, axis=1)
        ready = nl.multiply(raised, nisa.reciprocal(total))
        nl.store(out[i * 128:(i + 1) * 128, 0:columns], ready)
    return out
"""


def tensor(*shape: int, dtype: str = "float32") -> TensorGiven:
    """A tensor argument."""
    return TensorGiven(shape, dtype)


def parsed(text: str) -> tuple[Module, Kernel]:
    """A kernel with the usual imports before it."""
    module = parse_module(IMPORTS + text, "kernel.py")
    (kernel,) = module.kernels
    return module, kernel


def flow_of(text: str, *given: Given, grid: tuple[int, ...] = ()) -> Flow:
    """The interpretation of a launch with positional arguments."""
    module, kernel = parsed(text)
    names = [parameter.arg for parameter in kernel.node.args.args]
    return launched_flow(module, kernel, dict(zip(names, given, strict=False)), grid)


def stream_of(text: str, *given: Given, grid: tuple[int, ...] = ()) -> Stream:
    """The instructions of a launch."""
    return instruction_stream(flow_of(text, *given, grid=grid), grid)


def named(stream: Stream, short: str) -> list[InstructionRecord]:
    """The records of one function."""
    return [one for one in stream.records if one["op"].endswith(f".{short}")]
