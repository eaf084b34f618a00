"""What many reports have in common is said once: reports made by hand, nothing compiled."""

from dataclasses import replace

from tilewright.analysis.model import Issue
from tilewright.compiled.issues import compiled_issues
from tilewright.source import parse_module
from tilewright.targets.model import (
    Access,
    ArgumentFacts,
    CompileMessage,
    CompileReport,
    LaunchFacts,
    LineReport,
    Target,
)

TEXT = """\
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in range(n):
        x = tl.load(x_ptr + cols, mask=cols < n)
        tl.store(y_ptr + cols, x * 2, mask=cols < n)
"""
MODULE = parse_module(TEXT, "scale.py")
HOPPER, CDNA, XE = Target("cuda", "90"), Target("hip", "gfx942"), Target("xpu", "bmg-g31")
LOAD = 8


def launch(block: int = 1024, n: int = 4096, **options: int) -> LaunchFacts:
    return LaunchFacts(
        "scale",
        (4,),
        (
            ArgumentFacts("x_ptr", "tensor", "*fp32", None, (n,), (1,), True),
            ArgumentFacts("y_ptr", "tensor", "*fp32", None, (n,), (1,), True),
            ArgumentFacts("n", "int", "i32", n, divisible_by_16=n % 16 == 0),
            ArgumentFacts("BLOCK", "constexpr", "constexpr", block),
        ),
        options,
    )


def report(
    target: Target = HOPPER, spills: int = 0, launched: LaunchFacts | None = None
) -> CompileReport:
    line = LineReport(LOAD, 40, spill_loads=spills // 4, loop_depth=1)
    return CompileReport(
        target,
        "scale",
        launched or launch(),
        True,
        registers=255,
        spill_bytes=spills,
        details={"warps": 4},
        lines=(line,) if spills else (),
    )


def only(*reports: CompileReport, text: str = TEXT) -> Issue:
    (issue,) = compiled_issues(parse_module(text, "scale.py"), reports)
    return issue


def test_a_spill_stands_on_the_line_with_most_of_its_traffic() -> None:
    issue = only(report(spills=128))
    assert (issue.id, issue.kernel, issue.range.line) == ("register_spill", "scale", LOAD)
    assert "in a loop" in issue.message
    assert "a thread has 255 registers at most" in issue.message


def test_without_lines_a_spill_stands_on_the_kernels_name() -> None:
    issue = only(replace(report(spills=128), lines=()))
    assert issue.range == MODULE.kernels[0].name_range


def test_two_registers_outside_of_loops_are_not_worth_a_word() -> None:
    line = LineReport(LOAD, 40, spill_loads=2, spill_stores=2)
    assert not compiled_issues(MODULE, [replace(report(spills=8), lines=(line,))])


def test_configurations_that_spill_are_counted_and_the_worst_is_named() -> None:
    reports = [
        report(spills=spills, launched=launch(block))
        for block, spills in ((512, 0), (1024, 64), (2048, 640), (256, 0))
    ]
    issue = only(*reports)
    assert issue.message.startswith("On cuda:90 in 2 of 4 configurations (worst BLOCK=2048), ")
    assert issue.data["configuration"] == "BLOCK=2048"
    assert issue.severity == 1, "a tuner has others to choose from"


def test_what_holds_for_every_configuration_says_so() -> None:
    issue = only(*(report(spills=64, launched=launch(block)) for block in (512, 1024, 2048)))
    assert issue.message.startswith("On cuda:90 in all 3 configurations, ")
    assert issue.severity == 3


def test_launches_that_differ_in_arguments_alone_are_no_configurations() -> None:
    issue = only(report(spills=64), report(spills=64, launched=launch(n=8192)))
    assert issue.message.startswith("On cuda:90 in both launches, ")


def test_the_same_launch_twice_is_one() -> None:
    assert only(report(spills=64), report(spills=64)).message.startswith("On cuda:90, ")


def test_targets_that_differ_in_numbers_share_an_issue() -> None:
    one = replace(report(HOPPER, 64), target=Target("cuda", "80"))
    issue = only(one, report(HOPPER, 96))
    assert issue.message.startswith("On cuda:80 and cuda:90, ")
    assert issue.data["targets"] == "cuda:80,cuda:90"
    assert "16 and 24 registers (64 and 96 bytes)" in issue.message


def test_targets_that_differ_in_words_have_an_issue_each() -> None:
    told = {"warps": 4, "spill_store_bytes": 64, "spill_load_bytes": 64}
    nvidia = replace(report(HOPPER, 128), details=told)
    found = compiled_issues(MODULE, [nvidia, report(CDNA, 64)])
    assert [issue.data["targets"] for issue in found] == ["cuda:90", "hip:gfx942"]


def test_a_refusal_names_the_targets_that_take_it() -> None:
    said = CompileMessage("no fp8 here.", 8, 12)
    refused = replace(report(XE), ok=False, messages=(said,))
    issue = only(report(HOPPER), report(CDNA), refused)
    assert issue.message == "Compiles for cuda:90, hip:gfx942, not for xpu:bmg-g31: no fp8 here."
    assert (issue.range.line, issue.range.column) == (8, 12)


def test_a_refusal_outside_of_the_file_stands_on_the_kernel() -> None:
    refused = replace(report(), ok=False, messages=(CompileMessage("ptxas failed", 400),))
    assert only(refused).range == MODULE.kernels[0].name_range


def test_an_inferred_launch_that_is_refused_is_a_remark_with_its_assumption() -> None:
    refused = replace(report(), ok=False, messages=(CompileMessage("x is not defined", 8),))
    (made,) = compiled_issues(MODULE, [refused])
    (assumed,) = compiled_issues(MODULE, [refused], inferred={"scale"})
    assert made.severity > assumed.severity == 1
    assert assumed.message == (
        "Does not compile for cuda:90, for an inferred launch: x is not defined; what was assumed "
        "of its arguments may be what is refused: `tilewright capture` records a real launch."
    )
    (both,) = compiled_issues(MODULE, [refused, report(CDNA)], inferred={"scale"})
    assert both.severity > 1, "it is the chip that makes it"


def test_an_inferred_launch_is_named_as_one() -> None:
    (issue,) = compiled_issues(MODULE, [report(spills=64)], inferred={"scale"})
    assert issue.message.startswith("On cuda:90, for an inferred launch, ")


def test_a_comment_of_the_file_suppresses() -> None:
    text = TEXT.replace(
        "mask=cols < n)\n        tl",
        "mask=cols < n)  # tilewright: ignore[register_spill]\n        tl",
    )
    assert not compiled_issues(parse_module(text, "scale.py"), [report(spills=64)])


def test_a_kernel_that_is_not_in_the_text_is_left_out() -> None:
    assert not compiled_issues(parse_module("x = 1\n", "x.py"), [report(spills=64)])


def narrow(launched: LaunchFacts, bits: int = 32) -> CompileReport:
    line = LineReport(LOAD, 40, (Access("load", "global", bits, 8, 128),), loop_depth=1)
    return replace(report(launched=launched), lines=(line,))


def test_a_reason_that_the_probe_confirms_is_told_with_what_it_gave() -> None:
    ragged = narrow(launch(n=1001))
    (issue,) = compiled_issues(MODULE, [ragged], lambda asked, _: narrow(asked, 128))
    assert issue.id == "unvectorized_access"
    assert "compiled with n divisible by 16 it moves 16 bytes" in issue.message


def test_a_reason_that_the_probe_refutes_is_not_told() -> None:
    ragged = narrow(launch(n=1001))
    assert not compiled_issues(MODULE, [ragged], lambda asked, _: narrow(asked, 32))
    assert not compiled_issues(MODULE, [ragged], lambda asked, _: None)


def test_without_a_probe_the_reason_stands_alone() -> None:
    message = only(narrow(launch(n=1001))).message
    assert "the mask ends at n = 1001, which is not divisible by 16" in message
    assert "compiled with" not in message


def test_a_narrow_access_without_a_known_reason_is_left_alone() -> None:
    assert not compiled_issues(MODULE, [narrow(launch(n=4096))])


def test_alignment_of_an_inferred_launch_is_nobodys_fault() -> None:
    assert not compiled_issues(MODULE, [narrow(launch(n=1001))], inferred={"scale"})


def test_eight_bytes_of_sixteen_are_wide_enough() -> None:
    line = LineReport(LOAD, 40, (Access("load", "global", 64, 8, 128),))
    assert not compiled_issues(MODULE, [replace(narrow(launch(n=1001)), lines=(line,))])


def xe(registers: int, spilled: int, **options: int | str) -> CompileReport:
    return replace(
        report(XE, spilled * 64, replace(launch(), options=options)),
        registers=registers,
        details={"warps": 8, "spilled_registers": spilled},
    )


def test_a_mode_that_holds_what_the_other_spills() -> None:
    (issue,) = compiled_issues(MODULE, [xe(128, 30)], lambda asked, _: xe(256, 0))
    assert issue.id == "register_mode"
    assert "spill 30, and 256 hold it without spills" in issue.message


def test_spills_that_no_mode_holds_are_told_of_both() -> None:
    found = compiled_issues(MODULE, [xe(128, 200)], lambda asked, _: xe(256, 20))
    assert {issue.id for issue in found} == {"register_mode", "register_spill"}


def test_the_large_mode_is_told_only_where_the_small_one_is_known_to_do() -> None:
    large = xe(256, 0, grf_mode="large")
    assert not compiled_issues(MODULE, [large])
    assert not compiled_issues(MODULE, [large], lambda asked, _: xe(128, 4))
    (issue,) = compiled_issues(MODULE, [large], lambda asked, _: xe(128, 0))
    assert issue.id == "register_mode"
    assert issue.severity == 1


def test_what_is_asked_of_a_probe() -> None:
    asked: list[LaunchFacts] = []

    def probe(one: LaunchFacts, target: Target) -> None:
        asked.append(one)
        assert target == HOPPER

    compiled_issues(MODULE, [narrow(launch(n=1001))], probe)
    (variation,) = asked
    assert [a.name for a in variation.arguments if a.divisible_by_16] == ["x_ptr", "y_ptr", "n"]
