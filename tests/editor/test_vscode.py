"""The three uses in a real VS Code: reading findings, optimizing on request, profiling on save."""

import ast
import difflib
import json
import re
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.browser

VENDORS = ("Intel XPU", "NVIDIA", "AMD")
Reports = dict[str, dict[str, Any]]


def seen(reports: Reports, name: str) -> dict[str, Any]:
    """What a scenario saw; fails with its error where it did not get to the end."""
    report = reports[name]
    assert report["ok"], report["error"]
    facts: dict[str, Any] = report["seen"]
    return facts


def diff(facts: dict[str, Any]) -> list[str]:
    """The lines that a scenario's edit took away or added."""
    lines = difflib.ndiff(facts["before"].splitlines(), facts["after"].splitlines())
    return [line for line in lines if line[:2] in ("+ ", "- ")]


def test_a_finding_is_underlined_and_explained(reports: Reports) -> None:
    facts = seen(reports, "diagnostics")
    assert "tilewright" in facts["hover"]
    assert "tl.dot" in facts["hover"]
    assert any(int(word) > 0 for word in " ".join(facts["problems"]).split() if word.isdigit())


def test_a_value_is_explained_in_the_kernels_own_names(reports: Reports) -> None:
    facts = seen(reports, "tiles")
    assert "acc: [BLOCK_M, BLOCK_N] fp32 = tl.zeros" in facts["hint"]
    assert "tile of pointers [BLOCK_M, BLOCK_K]" in facts["hover"]
    assert "stride_am elements apart along axis 0" in facts["hover"]
    assert "tile [BLOCK_M, BLOCK_N] fp32" in facts["value"]


def test_an_nki_kernel_is_explained_estimated_and_fixed(reports: Reports) -> None:
    facts = seen(reports, "nki")
    assert "bound" in facts["lens"]
    assert "estimated, not measured" in facts["lens"]
    assert "scale: 128 × 1 fp32 SBUF" in facts["hint"]
    assert "KiB" in facts["loop"]
    for words in ("Vector", "data: 128 × 2048 float32 in SBUF", "Runs 32 times", "Limit:"):
        assert words in facts["hover"]
    assert any("Let the compiler choose the engine" in title for title in facts["fixes"])
    for chip in ("neuron:trn1", "neuron:trn2"):
        assert any(f"AWS Trainium ({chip})" in title for title in facts["offered"])


def test_an_nki_kernel_is_optimized_for_a_neuron_core(reports: Reports) -> None:
    facts = seen(reports, "trainium")
    assert "correct on neuron-sim" in facts["evidence"]
    assert re.search(r"estimated 1\.\d+x by the cost model for neuron:trn2", facts["evidence"])
    assert "not compiled, not measured" in facts["evidence"]
    assert "activation_reduce" in facts["after"]
    ast.parse(facts["after"])
    assert "verified: correct" in facts["verified"]
    for said in ("Certificate of softmax", "Where and with what", "Estimate, not measured"):
        assert said in facts["page"]
    assert "stage fusion" in facts["page"], "what each edit did"


def test_what_does_not_apply_can_be_ignored(reports: Reports) -> None:
    offered = seen(reports, "tiles")["offered"]
    assert any(title.startswith("Ignore ") and title.endswith("on this line") for title in offered)
    assert any(
        title.startswith("Ignore ") and title.endswith("in this kernel") for title in offered
    )


def test_a_quick_fix_says_what_is_known_and_touches_one_line(reports: Reports) -> None:
    facts = seen(reports, "quickFix")
    assert "not measured" in facts["chosen"]
    assert "not compiled, not run, not measured" in facts["evidence"]
    removed, added = diff(facts)
    assert removed.startswith("- ")
    assert "tanh_u = 2 * tl.sigmoid(2 * u) - 1" in added


def test_names_of_a_kernel_have_colours_by_what_they_are(reports: Reports) -> None:
    colours = seen(reports, "colours")["colours"]
    assert len(set(colours.values())) >= 3, colours
    assert colours["BLOCK"] != colours["x"] != colours["mask"]


def test_all_reports_of_a_rule_are_fixed_at_once(reports: Reports) -> None:
    facts = seen(reports, "fixKind")
    assert "exact edits alone, not measured" in facts["chosen"]
    assert facts["before"].count("torch.cuda.synchronize()") == 2
    assert facts["after"] == facts["before"].replace("    torch.cuda.synchronize()\n", "")


def test_a_spec_is_drafted_from_the_light_bulb(reports: Reports) -> None:
    facts = seen(reports, "addSpec")
    assert any(title == "Capture launches" for title in facts["offered"])
    assert "gaps are marked FILL_IN" in facts["told"]
    assert "x: {shape: [N_ROWS, N_COLS], dtype: inherit}" in facts["draft"]
    assert "dims: {N_ROWS: 4, N_COLS: 100}" in facts["draft"], "as the file calls it"
    assert facts["line"].startswith("Ln 17,"), "the entry point that the spec names"


def test_launches_of_a_script_are_captured_and_compiled(reports: Reports) -> None:
    facts = seen(reports, "capture")
    assert facts["commands"][0].endswith("/plain.py")
    assert "1 launches recorded of scale_kernel" in facts["told"]
    assert "assumed" not in facts["lens"]


def test_an_older_run_is_opened_in_the_panel(reports: Reports) -> None:
    facts = seen(reports, "olderRun")
    assert facts["offered"][0].startswith("softmax.py for cuda:90")
    assert "on record since" in facts["head"]
    assert any("original" in leaf for leaf in facts["leaves"])
    assert len(facts["leaves"]) > 1


def test_a_shown_edit_is_dropped_when_the_file_changes(reports: Reports) -> None:
    assert "Run it again" in seen(reports, "outdated")["told"]


def test_the_chip_of_a_file_is_shown_with_its_reason_and_changed_there(reports: Reports) -> None:
    facts = seen(reports, "chip")
    assert "xpu:bmg-g31" in facts["shown"]
    assert "the file's host code names torch.xpu, line 48" in facts["why"]
    assert any("cuda:" in entry for entry in facts["chips"]), "chips that are elsewhere too"
    assert not any("Follow the file" in entry for entry in facts["chips"])
    assert "xpu:pvc" in facts["chosen"]
    assert "Follow the file" in facts["offered"][0]
    assert "xpu:bmg-g31" in facts["followed"]


def test_the_light_bulb_offers_each_vendor(reports: Reports) -> None:
    offered = seen(reports, "optimize")["offered"]
    for vendor in VENDORS:
        assert any(vendor in title for title in offered), offered
    assert any("not measured" in title for title in offered), "a quick fix says what is not known"


def test_an_optimization_shows_progress_and_its_evidence(reports: Reports) -> None:
    facts = seen(reports, "optimize")
    assert "Cancel" in facts["progress"]
    assert "correct on interpreter" in facts["evidence"]
    assert "speed not measured" in facts["evidence"], "there is no device here that could time it"
    assert "xpu:bmg-g31" in facts["tab"]
    assert "applied" in facts["told"]
    assert "# typed meanwhile" in facts["after"], (
        "an edit elsewhere loses neither itself nor the run"
    )


def test_an_edit_for_intel_says_whether_it_was_compiled(reports: Reports) -> None:
    evidence = seen(reports, "optimize")["evidence"]
    if intel_compiler():
        assert "; compiled for xpu:bmg-g31;" in evidence
    else:
        assert "; not compiled (no toolchain for xpu" in evidence


def intel_compiler() -> bool:
    """Whether this machine has Triton for Intel, as the editor's server would find it."""
    command = [sys.executable, "-m", "tilewright", "toolchain", "list", "--format", "json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=120)
    found = json.loads(done.stdout)["toolchains"]
    return any(s["found"] for s in found if (s["backend"], s["part"]) == ("xpu", "triton"))


def test_the_confirmed_edit_is_in_the_file(reports: Reports) -> None:
    facts = seen(reports, "optimize")
    assert diff(facts)
    ast.parse(facts["after"])


def test_an_applied_edit_has_a_certificate_until_the_kernel_changes(reports: Reports) -> None:
    facts = seen(reports, "optimize")
    assert "certificate: scaled_product.tilewright.json" in facts["told"]
    assert "verified: correct" in facts["verified"]
    said = "certificate stale: scaled_product_kernel changed"
    assert said in facts["stale"]


def test_models_are_asked_for_before_anything_is_sent(reports: Reports) -> None:
    facts = seen(reports, "models")
    for said in (facts["declined"], facts["question"]):
        assert f"Optimize gate.py with {facts['model']}?" in said
        assert "Endpoint: http://127.0.0.1:" in said
        assert "20 calls" in said
        assert "Sent: the text of gate.py, its spec" in said
    assert all(button in facts["question"] for button in ("Use models", "Rewrites only", "Cancel"))


def test_a_models_edit_is_verified_and_names_its_model(reports: Reports) -> None:
    facts = seen(reports, "models")
    assert "stage fusion, try 2, $0.00 in 2 calls" in facts["progress"]
    assert "correct on interpreter" in facts["evidence"]
    assert f"(model {facts['model']})" in facts["evidence"]
    assert "models: $0.00 in 4 calls" in facts["told"]
    assert f"(model {facts['model']})" in facts["hover"]
    assert diff(facts) == ["-     y = x / (1.0 + tl.exp(-x))", "+     y = x * tl.sigmoid(x)"]


def test_the_key_of_the_editor_reaches_the_endpoint_and_no_file(reports: Reports) -> None:
    facts = seen(reports, "models")
    assert "Key for http://127.0.0.1:" in facts["prompt"]
    assert facts["authorizations"] == [f"Bearer {facts['key']}"] * 4
    assert facts["leaks"] == []


def test_a_cancelled_optimization_stops_and_changes_nothing(reports: Reports) -> None:
    facts = seen(reports, "cancel")
    assert all(vendor in target for vendor, target in zip(VENDORS, facts["targets"], strict=True))
    assert facts["unchanged"]
    assert "engine_process" in facts["running"]["command"]
    assert facts["left"] == []


def test_a_changed_setting_is_in_force_at_once(reports: Reports) -> None:
    facts = seen(reports, "settings")
    assert len(facts["many"]) == 3
    assert facts["few"] == ["Optimize for AMD (hip:gfx950)"]


def test_a_killed_server_leaves_no_engine_and_comes_back(reports: Reports) -> None:
    facts = seen(reports, "killedServer")
    assert len(set(facts["pids"])) == 2
    assert "goes on" in facts["resumed"], "the run is taken up by the next server"
    assert "linear_gelu_kernel" in facts["hover"]


def test_saving_profiles_the_kernel(reports: Reports) -> None:
    facts = seen(reports, "profile")
    assert "Profile" in facts["unmeasured"] or "Optimize" in facts["unmeasured"]
    assert "registers" in facts["lens"]
    assert "not timed" in facts["lens"]
    assert "softmax_kernel" in facts["hover"]


def test_what_compilers_say_stands_in_the_open_file(reports: Reports) -> None:
    facts = seen(reports, "compiled")
    assert "a multiprocessor" in facts["hover"]
    assert "launched as in the spec of the file" in facts["hover"]
    assert "fp64 instruction" in facts["onLine"]
    assert any("Compiled for cuda:90 with" in problem for problem in facts["problems"])


def test_the_assembly_beside_follows_the_cursor_and_says_when_it_is_stale(reports: Reports) -> None:
    facts = seen(reports, "compiled")
    assert any("DADD" in line for line in facts["forth"])
    assert any("tl.load" in line for line in facts["back"])
    assert "Save it, or run Refresh Assembly" in facts["stale"]
    assert facts["refreshed"].split("@")[0] == facts["tab"].split("@")[0], "and of the saved text"


def test_every_kernel_of_the_folder_is_listed(reports: Reports) -> None:
    facts = seen(reports, "kernels")
    assert re.search(r"~[\d.]+ us, \d+ % of roof · missing_autotune", facts["row"])
    assert any("nki/nki1/adamw_slow.py" in row for row in facts["rows"])


def test_every_chip_says_what_can_be_had_for_it(reports: Reports) -> None:
    facts = seen(reports, "chipList")
    assert any("Compile, estimate the time, check results" in chip for chip in facts["shown"])
    for chip in ("neuron:trn1", "neuron:trn2"):
        assert any(chip in each and "Estimate the time" in each for each in facts["neuron"])


def test_two_chips_stand_next_to_each_other_in_colour(reports: Reports) -> None:
    facts = seen(reports, "twoChips")
    assert "hip:gfx942 amdgcn" in facts["tab"]
    assert facts["colours"] > 4
    assert facts["links"] > 5, "lines of the source are links"


def test_a_run_has_a_panel_and_a_part_of_it_is_applied(reports: Reports) -> None:
    facts = seen(reports, "runPanel")
    assert "1 single_pass_row kept, correct" in facts["tree"]
    assert "speed not measured" in facts["status"][0]
    assert any("Hollow: estimated by the cost model" in chart for chart in facts["charts"])
    assert any("registers a thread" in row for row in facts["figures"])
    assert "Speed over its parent not measured" in facts["candidate"]


def test_the_palette_reaches_the_server(reports: Reports) -> None:
    facts = seen(reports, "commands")
    assert "Tilewright" in facts["status"]
    assert "tilewright" in facts["info"]


def test_an_untrusted_folder_is_read_and_not_run(run_scenarios: Any) -> None:
    facts = seen(run_scenarios("untrusted", trusted=False, interpreter=sys.executable), "untrusted")
    assert "not profiled: this workspace is not trusted" in facts["lens"]
    assert facts["ran"] == [], "neither compilers nor workers were started"


def test_a_setting_that_names_no_server_is_an_error(run_scenarios: Any) -> None:
    facts = seen(run_scenarios("wrongSetting", interpreter="/nowhere/python"), "wrongSetting")
    assert "/nowhere/python" in facts["error"]
    assert "/nowhere/python" in facts["logged"]


@pytest.mark.slow
def test_the_extension_makes_the_servers_environment(run_scenarios: Any) -> None:
    reports = run_scenarios("install", "update")
    facts = seen(reports, "install")
    assert "pip install tilewright-" in facts["question"], "what would run is shown before it runs"
    assert ".whl (part of this extension)" in facts["question"]
    assert any(int(word) > 0 for word in " ".join(facts["problems"]).split() if word.isdigit())
    facts = seen(reports, "update")
    assert "/nowhere/tilewright-9.whl failed" in facts["error"]
    assert facts["afterFailure"] == facts["before"], "the old environment and its server stay"
    assert set(facts["afterUpdate"]).isdisjoint(facts["before"]), "a new server was started"
    assert "softmax_kernel" in facts["hover"]
