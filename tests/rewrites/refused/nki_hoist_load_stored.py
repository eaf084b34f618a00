# rewrite: nki_hoist_load
# at: gain = nl.load(kept[0:128, 0:512])
# refuses: kept is written in the loop
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.hbm)
    for i in nl.sequential_range(4):
        gain = nl.load(kept[0:128, 0:512])
        nl.store(kept[0:128, 0:512], gain)
        nl.store(out[i], gain)
    return out
