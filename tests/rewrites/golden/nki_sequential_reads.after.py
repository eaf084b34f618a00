# rewrite: nki_sequential_reads
# at: step = nisa.tensor_tensor(tile, carry, nl.add)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    carry = nl.zeros((128, 512), dtype=nl.float32)
    for i in nl.sequential_range(4):
        tile = nl.load(x[i, 0:128, 0:512])
        step = nisa.tensor_tensor(tile, carry, nl.add)
        nl.store(out[i, 0:128, 0:512], step)
        carry[0:128, 0:512] = nl.copy(step)
    return out
