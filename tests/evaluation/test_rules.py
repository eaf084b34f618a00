"""The rules on a candidate's text: what they refuse by name and line, and what they let through."""

from pathlib import Path

import pytest
from rule_texts import AXPY, HEAD, LAUNCH, at_module_level, before_launch, held

from tilewright.evaluation.rules.comparison import Verdict

GOLDEN = Path(__file__).parents[1] / "rewrites" / "golden"


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["t = torch", "z = t.sum(x)"], "module torch as a value"),
        (['z = getattr(torch, "su" + "m")(x)'], "getattr with a computed name"),
        (['z = getattr(torch, "sum")(x)'], "torch.sum"),
        (["z = torch.Tensor(x.shape[0])"], "torch.Tensor as a value"),
        (["made = torch.Tensor", "z = made(x.shape[0])"], "torch.Tensor as a value"),
        (['z = getattr(x, "sum")()'], ".sum() of a tensor"),
        (["z = x + y"], "the + operator on tensors"),
        (["z = x", "z *= alpha"], "the * operator on tensors"),
        (["z = -x"], "the - operator on tensors"),
        (["z = x[y > 0]"], "a comparison of tensors"),
        (["out[0] = 1.0"], "an assignment to items of a tensor"),
        (["z = abs(x)"], "abs() of a tensor"),
        (["z = x.contiguous().softmax(-1)"], ".softmax() of a tensor"),
        (["z = max(x, y)"], "max() of a tensor"),
        (["torch.backends.cuda.matmul.allow_tf32 = True"], "a store to torch.backends"),
        (["x.note = 1"], "a store to x.note"),
        (["axpy.note = 1"], "a store to axpy.note"),
        (["if id(x) == 1:", "    n = 0"], "a call of id"),
        (["if x.data_ptr() in (1, 2):", "    n = 0"], ".data_ptr() of a tensor"),
        (["if x._version:", "    n = 0"], "._version"),
        (["n = int(x[0].item())"], ".item() of a tensor"),
        (["raise SystemExit"], "SystemExit"),
        (["import os"], "module os"),
        (["from dataclasses import sys", "n = len(sys.path)"], "dataclasses.sys"),
        (["z = tl.core.inspect.stack()"], "triton.language.inspect"),
        (["n = len(__file__)"], "the name __file__"),
        (["assert '{0._version}'.format(x)"], "an attribute or item in a format string"),
        (["ways = (tl.inline_asm_elementwise,)"], "triton.language.inline_asm_elementwise"),
        (["if __name__ == 'kernels':", "    n = 0"], "the name __name__"),
        (["names = (k := axpy_kernel).arg_names"], "attribute .arg_names of axpy_kernel"),
        (["print(axpy_kernel.run)"], "attribute .run of axpy_kernel"),
        (["from torch import *"], "import *"),
        (["x = x.__class__(x)"], "attribute __class__"),
        (["with torch.cuda.stream(None):", "    pass"], "torch.cuda.stream"),
        (["yield x"], "yield"),
        (["z = x._version"], "private attribute ._version"),
        (["z = torch._C"], "private attribute ._C"),
        (["axpy_kernel.add_pre_run_hook(print)"], "attribute .add_pre_run_hook of axpy_kernel"),
        (["import math", "z = int(math.sqrt(n)) + int(x[0])"], "int() of a tensor"),
    ],
)
def test_host_code_beyond_launching_is_refused(lines: list[str], named: str) -> None:
    faults = held(before_launch(*lines)).faults
    assert any(named in fault for fault in faults), faults


@pytest.mark.parametrize(
    "lines",
    [
        ["# cache, stream, exec, os, eval: words in a comment"],
        ["warps = 8 if x.shape[0] > 4096 else 4", "assert warps"],
        ["x, y = x.contiguous(), y.contiguous()"],
        ["rows = x.numel() // 256", "strides = (x.stride(0) * rows,)"],
        ["counters = torch.zeros(4, dtype=torch.int32, device=x.device)"],
        ["properties = torch.cuda.get_device_properties(x.device)", "n = min(n, n + 1)"],
        ["flat = x.view(-1).reshape(1, -1)", "assert flat.is_contiguous()"],
        ["small = x.dtype in (torch.float16, torch.bfloat16)", "assert small or not small"],
        ["grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)", "assert grid"],
        ["sizes = {name: 2**at for at, name in enumerate('ab')}", "assert sizes['a']"],
    ],
)
def test_what_launching_needs_passes(lines: list[str]) -> None:
    assert held(before_launch(*lines)) == Verdict((), ())


@pytest.mark.parametrize(
    "lines",
    [
        ["_SIZES = (128, 256)"],
        ["_CONFIGS = [triton.Config({'BLOCK': size}) for size in (128, 256)]"],
        [
            "@functools.lru_cache(maxsize=None)",
            "def _processors(index: int) -> int:",
            "    return torch.cuda.get_device_properties(index).multi_processor_count",
        ],
        [
            "@dataclasses.dataclass(frozen=True)",
            "class _Launch:",
            "    block: int = 256",
            "_LAUNCH = _Launch(block=128)",
            "def _launch(n: int) -> _Launch:",
            "    return _LAUNCH",
        ],
        ["_TABLE = {64: (1, 2)}", "def _warps(n: int) -> int:", "    return _TABLE[n][0]"],
        [
            "_COUNT = torch.cuda.get_device_properties(0).multi_processor_count * 2",
            "def _programs(n: int) -> int:",
            "    return min(n, _COUNT)",
        ],
        ["def _rows(n: int, block: int = 256) -> int:", "    return triton.cdiv(n, block)"],
    ],
)
def test_what_stands_at_module_level_in_honest_files_passes(lines: list[str]) -> None:
    text = at_module_level(*lines).replace(
        "import torch\n", "import dataclasses\nimport functools\n\nimport torch\n", 1
    )
    assert held(text) == Verdict((), ())


@pytest.mark.parametrize(
    ("module_level", "line", "named"),
    [
        ("BOXES = [[]]", "BOXES[0].append(out)", "a use of the module's BOXES"),
        ("BOXES = ([],)", "box = BOXES[0]; box.append(out)", "a part of BOXES"),
        ("BOXES = ({},)", "for box in BOXES: box[n] = out", "a part of BOXES"),
        (
            "BOXES = [0] * 4",
            "box = BOXES if n else None; box += [n]",
            "a use of the module's BOXES",
        ),
        ("(BOX := []); assert not BOX", "BOX.append(out)", "a use of the module's BOX"),
        ("match []:\n    case BOX: pass", "BOX.append(out)", "a use of the module's BOX"),
        ("COUNTS = zip(range(9))", "for n, in COUNTS: break", "a use of the module's COUNTS"),
        ("@functools.cache\ndef box(): return []", "b = box(); b.append(n)", "a part of box()"),
    ],
)
def test_what_a_call_leaves_in_the_module_is_refused(
    module_level: str, line: str, named: str
) -> None:
    text = before_launch(line).replace(HEAD, f"{module_level}\n\n\n{HEAD}")
    faults = held("import functools\n" + text).faults
    assert any(named in fault for fault in faults), faults


def test_a_text_is_in_the_encoding_in_which_it_is_read() -> None:
    assert held(f"# coding: utf-8\n{AXPY}") == Verdict((), ())
    assert "the encoding utf-7" in held(f"# vim: coding=utf-7\n{AXPY}").faults[0]


def test_annotations_and_defaults_of_a_kernel_run_on_the_host() -> None:
    for parameter in ("n: torch.manual_seed(0)", "n=torch.manual_seed(0)"):
        text = AXPY.replace(
            "alpha, n, BLOCK: tl.constexpr", f"alpha, BLOCK: tl.constexpr, {parameter}"
        )
        assert "torch.manual_seed" in held(text).faults[0]


def test_a_fault_names_the_line_and_the_way_out() -> None:
    text = before_launch("z = torch.exp(x)")
    line = text[: text.index("torch.exp")].count("\n") + 1
    (fault,) = held(text).faults
    assert fault == (
        f"torch.exp (line {line}) is not in the original; the work must stay in Triton"
    )


def test_what_the_original_does_once_is_not_done_twice() -> None:
    once = before_launch("z = torch.exp(x)")
    twice = before_launch("z = torch.exp(x)", "z = torch.exp(z)")
    assert held(once, once) == Verdict((), ())
    assert "torch.exp occurs 2 times, 1 in the original" in held(twice, once).faults[0]


def test_a_kernel_from_a_table_is_asked_for_when_it_runs() -> None:
    text = AXPY.replace(LAUNCH, "    launched(KERNELS[n > 4], x, y, out, alpha, n)\n")
    table = "KERNELS = {True: axpy_kernel, False: axpy_kernel}\n"
    helper = "def launched(kernel, *rest):\n    kernel[(rest[-1],)](*rest, BLOCK=256)\n"
    verdict = held(text.replace(HEAD, f"{table}\n\n{helper}\n\n{HEAD}"))
    assert verdict.faults == ()
    assert "axpy launches no kernel" in verdict.questions[-1]


def test_a_decoy_beside_the_entry_point_is_no_launch() -> None:
    text = AXPY.replace(LAUNCH, "") + "\n\ndef spare(x, y, out, alpha, n):\n" + LAUNCH
    assert any("axpy launches no kernel" in fault for fault in held(text).faults)


@pytest.mark.parametrize(
    "again",
    ["if True:\n    def axpy(x, y, alpha):\n        return x", "axpy = print", "import os as axpy"],
)
def test_an_entry_point_is_bound_once(again: str) -> None:
    faults = held(f"{AXPY}\n\n{again}\n").faults
    assert any("axpy is bound more than once" in fault for fault in faults), faults


def test_a_module_of_the_original_is_no_licence_for_all_it_has() -> None:
    original = AXPY.replace("import torch\n", "import os\n\nimport torch\n", 1)
    original = original.replace("    n = x.numel()\n", "    n = x.numel() or len(os.sep)\n")
    leaving = original.replace("    return out\n", "    os._exit(0)\n    return out\n")
    assert any("os._exit" in fault for fault in held(leaving, original).faults)
    assert held(original + "\n# the same\n", original) == Verdict((), ())


def test_a_question_of_alignment_is_shown_and_refuses_nobody() -> None:
    verdict = held(before_launch("aligned = x.data_ptr() % 16 == 0", "assert aligned or n"))
    assert verdict.faults == ()
    assert ".data_ptr() asked for alignment" in verdict.questions[0]


def test_an_argument_that_is_not_used_any_more_is_shown() -> None:
    verdict = held(AXPY.replace("out, alpha, n", "out, 1.5, n"))
    assert verdict.faults == ()
    assert "the argument alpha is not used any more" in verdict.questions[0]


@pytest.mark.parametrize("before", sorted(GOLDEN.glob("*.before.py")), ids=lambda p: p.stem)
def test_rewrites_of_our_own_pass(before: Path) -> None:
    after = before.with_name(before.name.replace(".before.", ".after."))
    assert held(after.read_text(), before.read_text(), None) == Verdict((), ())


def test_a_heuristic_is_host_code() -> None:
    text = AXPY.replace(
        "@triton.jit\n",
        '@triton.heuristics({"BLOCK": lambda found: int(found["x_ptr"].sum())})\n@triton.jit\n',
    )
    assert any(".sum() of a tensor" in fault for fault in held(text).faults)


def test_an_operator_in_assembly_is_refused_in_a_kernel() -> None:
    text = AXPY.replace(
        "    tl.store(",
        '    x = tl.inline_asm_elementwise("", "", [x], tl.float32, True, 1)\n    tl.store(',
    )
    assert any("inline_asm_elementwise" in fault for fault in held(text).faults)


def with_parameters(more: str, use: str = "") -> str:
    head = HEAD.replace(") ->", f", {more}) ->")
    return AXPY.replace(HEAD, head).replace(LAUNCH, f"{use}{LAUNCH}")


def test_a_new_parameter_with_a_default_is_a_question_and_an_unused_one_a_fault() -> None:
    used = held(with_parameters("block: int = 256", "    n = min(n, max(n, block))\n"))
    assert used.faults == ()
    assert any("new parameter block" in text for text in used.questions)
    assert any("which nothing uses" in text for text in held(with_parameters("b: int = 1")).faults)


@pytest.mark.parametrize("head", ["def axpy(x, y, alpha):\n", HEAD.replace("float)", "object)")])
def test_annotations_are_no_part_of_the_contract(head: str) -> None:
    assert held(AXPY.replace(HEAD, head)).faults == ()


@pytest.mark.parametrize(
    "head",
    [
        "def axpy(y, x, alpha):\n",
        "def axpy(x, y, alpha=1.0):\n",
        "def axpy(x, y, alpha, block):\n",
        "def axpy(x, y, *, alpha):\n",
        "def axpy(x, y, alpha, *rest):\n",
    ],
)
def test_calls_must_mean_what_they_meant(head: str) -> None:
    faults = held(AXPY.replace(HEAD, head)).faults
    assert any("changed its parameters" in text for text in faults)


SCRIPT = ["import subprocess", "x = torch.softmax(torch.ones(4), 0)", "print(open('x').read())"]


def under(test: str, *lines: str) -> str:
    return f"{AXPY}\n\nif {test}:\n" + "".join(f"    {line}\n" for line in lines)


def test_what_a_script_does_is_nobodys_affair() -> None:
    assert held(under('__name__ == "__main__"', *SCRIPT)).faults == ()


@pytest.mark.parametrize(
    "test", ['__name__ != "__main__"', '"__main__" == "__main__"', '__name__ == "x"', "True"]
)
def test_other_conditions_are_read(test: str) -> None:
    assert held(under(test, *SCRIPT)).faults


def test_what_a_script_is_not_is_read() -> None:
    text = under('__name__ == "__main__"', "pass") + "else:\n    import subprocess\n"
    assert any("module subprocess" in text for text in held(text).faults)


OPTIONAL = ["try:", "    from triton.language import target_info", "except ImportError:"]


def test_an_import_may_fail() -> None:
    assert held(at_module_level(*OPTIONAL, "    target_info = None")).faults == ()


@pytest.mark.parametrize(
    "lines",
    [
        [*OPTIONAL, "    target_info = torch.softmax"],
        [*OPTIONAL[:2], "    axpy = None", OPTIONAL[2], "    pass"],
        [*OPTIONAL[:2], "except Exception:", "    pass"],
        [*OPTIONAL[:2], "except:", "    pass"],
    ],
)
def test_no_other_handler_is_excused(lines: list[str]) -> None:
    assert any("except clause" in text for text in held(at_module_level(*lines)).faults)


LOG = ["import logging", 'LOG = logging.getLogger("axpy")']


def logging(*lines: str) -> tuple[str, ...]:
    text = at_module_level(*LOG).replace(LAUNCH, "".join(f"    {one}\n" for one in lines) + LAUNCH)
    return held(text).faults


def test_a_logger_may_log() -> None:
    assert logging('LOG.debug("called %s", n)') == ()


@pytest.mark.parametrize(
    "line", ["LOG.handlers.append(out)", "box = LOG", "LOG.addHandler(out)", "print(LOG.name)"]
)
def test_a_logger_does_nothing_else(line: str) -> None:
    assert any("logger" in text for text in logging(line))


KEPT = at_module_level("BOX: dict = {}").replace("    out = torch", "    BOX[n] = out = torch")


def test_a_refusal_names_the_setting_that_permits_it() -> None:
    (fault,) = held(KEPT).faults
    assert 'allow = ["workspaces"] or allow = ["prepacked-weights"] in [tool.tilewright]' in fault
    allowed = held(KEPT, allow=("workspaces",))
    assert allowed.faults == ()
    assert any('permitted by allow = ["workspaces"]' in text for text in allowed.permitted)
    assert held(KEPT, allow=("inline-assembly",)).faults == (fault,)


def test_permission_is_for_what_it_names_alone() -> None:
    text = KEPT.replace(LAUNCH, "    z = torch.softmax(x, 0)\n" + LAUNCH)
    (fault,) = held(text, allow=("workspaces",)).faults
    assert "torch.softmax" in fault
