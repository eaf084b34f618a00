"""The issue types as data: complete, consistent, readable."""

import ast
import textwrap

import pytest
from each import each

from tilewright.knowledge.base import issue_type, taxonomy
from tilewright.knowledge.explain import explain
from tilewright.knowledge.files import KnowledgeError, knowledge_root, read_file
from tilewright.knowledge.model import UNMEASURED, TaxonomyFile
from tilewright.knowledge.stages import DEFAULT_ORDER, Stage

PUBLISHED = {
    Stage.ALGORITHMIC: """redundant_computation suboptimal_algorithm associativity_reorder
        common_subexpression algebraic_simplification cacheable_intermediate loop_invariant_code
        unnecessary_materialization gemm_simplification reduction_tree_suboptimal""",
    Stage.DTYPE_FIX: "dtype_float64 dtype_precision dtype_input_conversion",
    Stage.FUSION: """unfused_kernels unfused_elementwise unfused_reduction
        fusion_register_pressure fusion_replaces_vendor fusion_noop""",
    Stage.MEMORY_ACCESS: """missing_boundary_check transpose_in_loop missing_tma
        uncoalesced_access device_host_sync non_contiguous_input cache_eviction_risk
        long_liveness high_register_pressure""",
    Stage.BLOCK_POINTERS: """manual_pointer_arithmetic missing_block_pointers
        block_ptr_boundary_wrong block_ptr_multiple_of_misuse""",
    Stage.DEVICE_SPECIFIC: """suboptimal_tile_size suboptimal_warps missing_grf_mode no_swizzling
        repack_in_forward missing_packed_transpose serialized_n_tiles sigmoid_slow_exp""",
    Stage.AUTOTUNING: """missing_autotune autotune_duplicate_params suboptimal_autotune_configs
        autotune_key_missing""",
    Stage.PERSISTENT_KERNEL: "missing_persistent persistent_num_progs_hardcoded",
    Stage.DISCOVERY: "open_ended",
}
ISSUES = list(taxonomy())


def test_the_published_taxonomy_is_there_with_its_stages() -> None:
    expected = {issue: stage for stage, ids in PUBLISHED.items() for issue in ids.split()}
    assert len(expected) == 47
    assert {i: t.stage for i, t in taxonomy().items() if i in expected} == expected


def test_in_the_order_of_the_stages_and_in_the_file_of_its_stage() -> None:
    stages = [t.stage for t in taxonomy().values()]
    assert stages == sorted(stages, key=DEFAULT_ORDER.index)
    for path in (knowledge_root() / "taxonomy").glob("*.yaml"):
        issues = read_file(path, TaxonomyFile).issues
        if path.stem.startswith("nki_"):
            assert {i.applies_to.languages for i in issues} == {("nki",)}
        elif path.stem == "compiled":
            assert {i.tier for i in issues} == {"compiled"}
        else:
            assert {i.tier for i in issues} == {"source"}
            assert {i.stage.value for i in issues} == {path.stem}


def test_issues_of_one_language_are_found_by_their_name() -> None:
    for kind in taxonomy().values():
        assert kind.id.startswith("nki_") is (kind.applies_to.languages == ("nki",))


@each(ISSUES)
def test_the_texts_serve_an_editor(issue: str) -> None:
    kind = taxonomy()[issue]
    assert len(kind.title) <= 60
    assert not kind.title.endswith(".")
    assert kind.summary.endswith(".")
    assert "\n" not in kind.summary
    assert (kind.gain == UNMEASURED) == (kind.gain_source is None)


@each(ISSUES)
def test_examples_are_python_and_differ(issue: str) -> None:
    example = taxonomy()[issue].example
    if example is None:
        return
    assert example.before.strip() != example.after.strip()
    for text in (example.before, example.after):
        ast.parse(_complete(text))


def _complete(snippet: str) -> str:
    """A fragment in a function, decorators and headers given something to stand on."""
    lines = snippet.rstrip().split("\n")
    if lines[-1].startswith("@"):
        lines.append("def kernel(): pass")
    if lines[-1].endswith(":"):
        lines.append("    pass")
    return "def fragment():\n" + textwrap.indent("\n".join(lines), "    ")


def test_a_page_says_everything() -> None:
    page = explain("suboptimal_tile_size")
    for part in (
        "# The tile does not suit chip and shape",
        "stage device_specific · severity 4 of 5",
        "## Why",
        "## Fix",
        "```python",
        "5.9x at best",
        "(one H200, Triton 3.6.0, torch 2.11)",
        "Triton, any version, on NVIDIA, AMD, Intel XPU.",
    ):
        assert part in page


def test_a_page_claims_no_gain_that_nobody_measured() -> None:
    assert "## Gain\n\nNot measured." in explain("dot_accumulator")


def test_a_page_says_where_it_applies() -> None:
    assert "Triton, any version, on Intel XPU." in explain("missing_grf_mode")
    assert "Triton <3.9," in explain("block_ptr_boundary_wrong")


@each(ISSUES)
def test_every_page_renders(issue: str) -> None:
    page = explain(issue)
    assert page.startswith(f"# {taxonomy()[issue].title}\n\n`{issue}`")
    assert page.endswith("\n")


def test_an_unknown_issue_names_the_nearest() -> None:
    with pytest.raises(KnowledgeError, match=r"unknown issue 'dtype_float46'; .*dtype_float64"):
        explain("dtype_float46")
    with pytest.raises(KnowledgeError, match="lists them"):
        issue_type("zzzzzz")
