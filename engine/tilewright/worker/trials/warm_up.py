"""What each process of a trial would do again, done once in the fork server before the first."""

from __future__ import annotations

import gc
import importlib
from functools import cache

from .. import tamper
from ..interpreter import switch
from ..sandbox import read_paths

# Imported by numpy with the first call of functions that the interpreter uses.
_LATE_IMPORTS = ("numpy.ma",)
# Of fake tensors, with which processes compile next to a candidate.
_TO_COMPILE = ("torch._dynamo",)


@cache
def warm_up(*, compiles: bool) -> None:
    """Import, look up and rewrite it; no device is opened and no thread started.

    ``compiles``: whether kernels are compiled, as they are for a GPU.
    """
    for name in (*_LATE_IMPORTS, *(_TO_COMPILE if compiles else ())):
        importlib.import_module(name)
    tamper.warm_up()
    switch.warm_up()
    read_paths.everyones()
    # Children would mark all that is new when they collect, and so copy the pages it lies in.
    gc.collect()
    gc.freeze()
