"""What the watchers see of a file that is imported and called, and what speaks against it."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tilewright.evaluation.honesty import faults, notes
from tilewright.worker.tamper import patched_functions

pytestmark = pytest.mark.triton

HONEST = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, 2 * x, mask=offs < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 32),)](x, out, x.numel(), BLOCK=32)
    return out
"""


KEEPERS = """\
import functools
import itertools

_COUNT = itertools.count()
_BOXES = ([],)
_ENDLESS = itertools.repeat([])
_PUT = [].append
_BYTES = bytearray(1)
_LONG = [0] * 1000


@functools.lru_cache
def _tally():
    return [0]


_tally()
"""


class Stage:
    """Imports a file and calls its ``double``, watched; the facts of both."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0

    def facts(self, text: str, calls: int = 1) -> dict[str, Any]:
        import torch

        from tilewright.worker import tamper
        from tilewright.worker.loading import entry_point as modules

        self._made += 1
        file = self._folder / str(self._made) / "kernel.py"
        file.parent.mkdir()
        file.write_text(text)
        with tamper.observed(str(file)) as seen:
            module = modules.load_module(str(file))
        found = [seen.facts()]
        for _ in range(calls):
            x = torch.arange(100.0)
            with tamper.observed(str(file)) as seen:
                real = module.double(x)
            found.append(seen.facts())
        with tamper.launches_skipped():
            skipped = module.double(x)
        share = tamper.unchanged_share([real], [torch.where(skipped == real, real, -1)])
        return {**tamper.merged(found), "skipped_same": share}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    from tilewright.worker.host import absent_device
    from tilewright.worker.interpreter import switch
    from tilewright.worker.memcheck import poison

    path, modules = list(sys.path), set(sys.modules)
    with ExitStack() as stack:
        stack.enter_context(switch.interpreted())
        stack.enter_context(absent_device.no_driver())
        stack.enter_context(poison.Poison())
        yield Stage(tmp_path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("under_test_"):
            del sys.modules[name]


def changed(*pairs: tuple[str, str]) -> str:
    text = HONEST
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def before_return(*lines: str) -> str:
    return changed(("    return out\n", "".join(f"    {x}\n" for x in lines) + "    return out\n"))


def test_launches_are_seen_with_programs_file_and_line(stage: Stage) -> None:
    facts = stage.facts(HONEST)
    entry = facts["launches"]["double_kernel"]
    assert {**entry, "line": 0} == {"count": 1, "programs": 4, "file": "kernel.py", "line": 0}
    assert facts["operators"]["aten.empty_like"]["calls"] == 1
    assert faults(facts, facts) == ()


def test_an_honest_call_leaves_nothing_to_object_to(stage: Stage) -> None:
    original = stage.facts(HONEST)
    again = stage.facts(changed(("BLOCK=32", "BLOCK=64"), ("numel(), 32)", "numel(), 64)")))
    assert faults(original, again) == ()
    assert again["skipped_same"] == 0.0


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["out = torch.exp(x)"], "runs the operator aten.exp"),
        (["out = getattr(x, 'ex' + 'p')()"], "runs the operator aten.exp"),
        (["out = eval('to' + 'rch').exp(x)"], "runs the operator aten.exp"),
        (["open('/dev/null', 'w').close()"], "opens /dev/null for writing"),
        (["import subprocess", "subprocess.run(['true'])"], "starts a process"),
        (["import ctypes", "ctypes.CDLL(None)"], "uses ctypes"),
        (["import socket", "socket.socket().close()"], "uses the network"),
        (["import gc", "gc.get_objects()"], "searches the process's objects"),
        (["import sys", "sys._getframe()"], "looks at stack frames"),
        (["import inspect", "inspect.stack()"], "looks at stack frames"),
        (["exec('x = 1')"], "runs code made at run time"),
        (["double.__code__ = double.__code__"], "replaces code objects"),
        (["torch.manual_seed(0)"], "torch's random state"),
        (["import os", "os.environ['TW_TEST'] = str(id(out))"], "the environment"),
        (["double.kept = out"], "keeps a tensor of 400 bytes in kernel.double.kept"),
        (["double_kernel.kept = out"], "keeps a tensor"),
        (["double.calls = getattr(double, 'calls', 0) + 1"], "a call changes kernel.double.calls"),
        (
            [
                "import sys",
                "for name, module in list(sys.modules.items()):",
                "    if name.endswith('tamper.audit_events'):",
                "        module._watchers.clear()",
            ],
            "takes away what watches it",
        ),
        (["next(_COUNT)"], "a call changes kernel._COUNT"),
        (["_BOXES[0].append(out)"], "keeps a tensor of 400 bytes in kernel._BOXES[0][0]"),
        (["for box in _ENDLESS:", "    box.append(1)", "    break"], "a call changes kernel._END"),
        (["_PUT(1)"], "a call changes kernel._PUT"),
        (["_BYTES[0] ^= 1"], "a call changes kernel._BYTES"),
        (["_tally()[0] += 1"], "a call changes kernel._tally.cached"),
        (["_LONG[900] += 1"], "a call changes kernel._LONG"),
        (["double_kernel.arg_names.append(1)"], "a call changes kernel.double_kernel.arg_names"),
        (["x.tolist()"], "reads the contents of a tensor (tolist"),
        (["assert float(x[1]) == 1"], "reads the contents of a tensor (_local_scalar_dense"),
        (["f'{x[0]}'"], "reads the contents of a tensor"),
        (["x.map2_(x, x, lambda a, b, c: a)"], "reads the contents of a tensor (map2_"),
        (["out = x * 2"], "100% of its result is right though no kernel ran"),
    ],
)
def test_what_an_honest_call_does_not_do_is_named(
    stage: Stage, lines: list[str], named: str
) -> None:
    text = f"{KEEPERS}\n{before_return(*lines)}"
    found = faults(stage.facts(HONEST), stage.facts(text))
    assert any(named in fault for fault in found), found


def test_what_the_original_does_too_is_its_own_affair(stage: Stage) -> None:
    odd = before_return("torch.manual_seed(torch.initial_seed())", "spare = torch.exp(x)")
    assert faults(stage.facts(odd), stage.facts(odd)) == ()


def test_a_function_that_others_rely_on_is_missed_when_it_is_another(stage: Stage) -> None:
    import time

    original, clock = stage.facts(HONEST), time.perf_counter
    try:
        text = HONEST + "\nimport time\ntime.perf_counter = lambda: 0.0\n"
        found = faults(original, stage.facts(text))
    finally:
        time.perf_counter = clock
    assert any("replaces time.perf_counter" in fault for fault in found)


def test_kernels_may_be_renamed_and_may_not_be_left_out(stage: Stage) -> None:
    original = stage.facts(HONEST)
    renamed = stage.facts(changed(("double_kernel", "twice_kernel")))
    assert faults(original, renamed) == ()
    assert "double_kernel is no longer launched" in notes(original, renamed)[0]
    idle = stage.facts(changed(("    double_kernel[", "    len or double_kernel[")))
    assert any("launched no kernel" in fault for fault in faults(original, idle))


def test_whose_memory_a_result_lies_in_is_part_of_the_contract() -> None:
    import torch

    from tilewright.worker.tamper import shared

    x, y = torch.zeros(8), torch.zeros(8)
    inputs = {"X": x, "Y": y, "N": 8}
    assert shared([x[2:], y.clone()], inputs) == ["result 0 lies in X"]
    in_place, fresh = {"shared": shared([x], inputs)}, {"shared": shared([x + y], inputs)}
    assert faults(in_place, in_place) == faults(fresh, fresh) == faults(fresh, {}) == ()
    assert "result 0 lies in X; callers may rely" in faults(in_place, fresh)[0]
    assert "result 0 lies in X, where the original's" in faults(fresh, in_place)[0]
    square = torch.zeros(4, 4)
    across = {"shared": shared([square.t()], inputs)}
    along = {"shared": shared([square], inputs)}
    assert faults(across, along) == faults(across, across) == ()
    assert "result 0 is not contiguous, which is otherwise" in faults(along, across)[0]
    asking = {"shared": shared([torch.nn.Parameter(square)], {"X": x.requires_grad_()})}
    told = faults(along, asking)
    assert "result 0 asks for gradients" in told[0]
    assert "result 0 is a Parameter" in told[1]
    assert "it leaves input X asking for gradients" in told[2]
    y.note = x  # type: ignore[attr-defined]
    assert (
        "it leaves input Y with attributes (note)"
        in faults(along, {"shared": shared([], inputs)})[-1]
    )


def test_what_the_standard_library_makes_of_a_class_is_not_the_files_doing(stage: Stage) -> None:
    made = (
        "from dataclasses import dataclass\nfrom typing import Callable, NamedTuple, Optional\n\n"
        "@dataclass(frozen=True)\nclass Launch:\n    block: int = 32\n\n\n"
        "class Shape(NamedTuple):\n    n: Optional[int] = None\n\n\nSMALL = Launch(32)\n"
    )
    text = made + before_return("assert SMALL.block == 32 and Shape(1).n")
    assert faults(stage.facts(HONEST), stage.facts(text)) == ()


def test_a_tuner_and_a_helper_are_no_state(stage: Stage) -> None:
    tuned = changed(
        (
            "@triton.jit\ndef double",
            "@triton.autotune([triton.Config({})], key=['n'])\n@triton.jit\ndef double",
        ),
        ("import torch\n", "import functools\n\nimport torch\n"),
        (
            "def double(x):\n",
            "@functools.lru_cache\ndef size():\n    return 32\n\n\n"
            "def double(x):\n    assert size()\n",
        ),
    )
    assert faults(stage.facts(HONEST), stage.facts(tuned, calls=2)) == ()


def test_of_modules_the_workers_alone_are_compared_whole() -> None:
    listed = {name for name, _ in patched_functions._NAMESPACES}
    others = set(patched_functions.identities()) - listed
    assert "tilewright.worker.protocol" in others
    assert {name for name in others if not name.startswith("tilewright.worker")} == set()


class _AlikeToAll:
    """Says of anything that it is that."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __call__(self, *given: object) -> None: ...


def test_a_function_that_says_it_is_another_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    before = patched_functions.identities()
    assert patched_functions.replaced(before, patched_functions.identities()) == []
    monkeypatch.setattr(time, "perf_counter", _AlikeToAll())
    assert patched_functions.replaced(before, patched_functions.identities()) == [
        "time.perf_counter"
    ]
