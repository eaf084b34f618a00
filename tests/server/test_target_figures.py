"""What the choice of a chip shows of each: measured before estimated, and that nothing is known."""

from tilewright.costs import Estimate
from tilewright.costs.model import Bound
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts, Timing
from tilewright_server.target_figures import target_figures

TARGETS = ("cuda:90", "hip:gfx942", "xpu:bmg-g31")


def _compiled() -> CompiledFacts:
    launch = LaunchFacts("k", (1,), ())
    reports = tuple(
        CompileReport(kernel="k", target=Target(*target.split(":")), ok=ok, launch=launch)
        for target, ok in (("cuda:90", True), ("cuda:90", True), ("hip:gfx942", False))
    )
    estimates = (
        Estimate(20.0, Bound.MEMORY, 40.0, {}),
        Estimate(12.0, Bound.MEMORY, 66.6, {}),
        None,
    )
    return CompiledFacts("k", TARGETS, "spec", reports, (), (), (), estimates)


def test_an_estimate_is_called_one_and_is_the_best_configurations() -> None:
    assert target_figures([("k", _compiled(), ())]) == {
        "cuda:90": "12 µs by estimate, 67 % of the roof",
        "hip:gfx942": "does not compile",
        "xpu:bmg-g31": "not compiled, not measured",
    }


def test_what_was_measured_comes_first() -> None:
    timing = Timing(9.5, 9.0, 10.0, "NVIDIA H200", "n=64")
    facts = ProfileFacts(
        "k", "cuda:90", True, None, None, None, None, (), True, timing, "NVIDIA H200", (),
        roof_percent=81.0,
    )  # fmt: skip
    found = target_figures([("k", _compiled(), (facts,))])
    assert found["cuda:90"] == "9.5 µs measured on NVIDIA H200, 81 % of the roof"


def test_several_kernels_are_named() -> None:
    found = target_figures([("a", _compiled(), ()), ("b", None, ())])
    assert found["cuda:90"] == "a: 12 µs by estimate, 67 % of the roof"
    assert target_figures([("b", None, ())]) == {}
