"""What is known of an NKI kernel stands in hovers, hints and actions, for both packages."""

import re
from dataclasses import replace

import pytest
from conversation import Conversation, until
from lsprotocol import types

from tilewright.analysis.model import AnalysisContext
from tilewright.problems.model import Case, Entry, EntryKind, Input, Problem
from tilewright.source import parse_module
from tilewright_server.analysis_cache import Analysis
from tilewright_server.nki_estimates import estimate_card, kernel_estimates, lens_titles
from tilewright_server.tile_places import card_at, hints_in

OLDER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def normalize(x, g):
    out = nl.ndarray((4096, 2048), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    rows = nl.arange(128)[:, None]
    weight = nl.load(g[0:1, 0:2048], dtype=nl.bfloat16)
    kept = nl.ndarray((32, nl.par_dim(128), 2048), dtype=nl.bfloat16, buffer=nl.sbuf)
    for i in nl.affine_range(32):
        kept[i] = nl.load(x[nl.ds(i * 128, 128), 0:2048])
        total = nl.sum(nl.square(kept[i]), axis=1)
        scale = nl.rsqrt(nl.multiply(total, 1 / 2048))
        result = nisa.tensor_scalar(kept[i], op0=nl.multiply, operand0=scale)
        nl.store(out[nl.ds(i * 128, 128), 0:2048], result * weight.broadcast_to((128, 2048)))
    return out
"""
NEWER = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(a, b):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    right = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)
    total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    for k in range(8):
        nisa.dma_copy(dst=left, src=a[k])
        nisa.dma_copy(dst=right, src=b[k])
        nisa.nc_matmul(dst=total, stationary=left, moving=right)
    nisa.tensor_copy(dst=result, src=total)
    nisa.dma_copy(dst=out, src=result)
    return out
"""


def _analysis(text: str) -> Analysis:
    return Analysis(parse_module(text, "m.py"), (), (), AnalysisContext())


def _card(text: str, what: str, inside: int = 0) -> str:
    before = text[: text.index(what) + inside].split("\n")
    found = card_at(_analysis(text), len(before), len(before[-1]))
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("text", "what", "inside", "said"),
    [
        (OLDER, "kept =", 0, "`kept` · tensor `[32] 128 × 2048` `bfloat16` in SBUF"),
        (OLDER, "scale =", 0, "`scale` · tile `128 × 1` `float32` in SBUF"),
        (OLDER, "x[nl.ds", 30, "`x[nl.ds(i * 128, 128), 0:2048]` · argument `128 × 2048` in HBM"),
        (OLDER, "rows =", 0, "`rows` · index array along the partition, values 0 to 127"),
        (OLDER, "i in nl", 0, "`i` · index of `affine_range`, 0 to 31"),
        (OLDER, "nl.rsqrt", 4, "`nl.rsqrt(…)` · Scalar engine"),
        (NEWER, "nisa.nc_matmul", 6, "`nisa.nc_matmul(…)` · Tensor engine"),
        (NEWER, "total =", 0, "`total` · tile `128 × 512` `float32` in PSUM"),
    ],
)
def test_card_names_kind_shape_type_and_memory(
    text: str, what: str, inside: int, said: str
) -> None:
    assert _card(text, what, inside).startswith(said)


def test_card_of_an_instruction_has_operands_count_use_and_limits() -> None:
    card = _card(NEWER, "nisa.nc_matmul", 6)
    assert "Multiplies stationary (K, M), transposed" in card
    assert "- `stationary`: `128 × 128` `bfloat16` in SBUF\n" in card
    assert "- `dst`: `128 × 512` `float32` in PSUM\n" in card
    assert "- Runs 8 times, over `k`\n" in card
    assert "- Live at this line, in each partition: SBUF 1.25 KiB · PSUM 2 KiB\n" in card
    assert "- Limit: K and M are at most 128, N at most 512." in card


@pytest.mark.parametrize("what", ["import", "def ", "@nki", "return out", "0:2048"])
def test_nothing_is_said_where_nothing_is_known(what: str) -> None:
    before = OLDER[: OLDER.index(what)].split("\n")
    assert card_at(_analysis(OLDER), len(before), len(before[-1])) is None


@pytest.mark.parametrize("text", [OLDER, NEWER])
def test_every_place_of_a_kernel_has_a_card_or_none(text: str) -> None:
    analysis = _analysis(text + "    é = out; é2 = é\n")
    cards = [
        card_at(analysis, number, column)
        for number, line in enumerate(analysis.module.index.lines, 1)
        for column in range(len(line) + 1)
    ]
    assert {None, ""} & set(cards) == {None}
    assert len({card for card in cards if card is not None}) >= 5


def test_hints_show_partitions_by_free_elements_and_what_loops_keep() -> None:
    found = {(h.line, h.label) for h in hints_in(_analysis(OLDER), 1, 100)}
    assert found == {
        (8, ": 4096 × 2048 bf16 HBM"),
        (10, ": 1 × 2048 bf16 SBUF"),
        (11, ": [32] 128 × 2048 bf16 SBUF"),
        (12, " SBUF 12 KiB"),
        (14, ": 128 × 1 bf16 SBUF"),
        (15, ": 128 × 1 fp32 SBUF"),
        (16, ": 128 × 2048 bf16 SBUF"),
    }
    assert [h.line for h in hints_in(_analysis(OLDER), 11, 12)] == [11, 12]


async def test_hover_and_hints_on_the_wire(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=NEWER)
    assert "Tensor engine" in (await talk.hover(15, 14) or "")
    lines = types.Range(types.Position(0, 0), types.Position(100, 0))
    found = await talk.client.text_document_inlay_hint_async(
        types.InlayHintParams(types.TextDocumentIdentifier(talk.uri), lines)
    )
    labels = [hint.label for hint in found or ()]
    assert ": 128 × 512 fp32 PSUM" in labels
    assert " SBUF 1.25 KiB · PSUM 2 KiB" in labels


async def test_an_nki_file_is_optimized_for_trainium(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=OLDER)
    actions = await talk.actions(6, 4, ["refactor.rewrite.tilewright"])
    assert [a.title for a in actions][:2] == [
        "Optimize for AWS Trainium (neuron:trn2)",
        "Optimize for AWS Trainium (neuron:trn1)",
    ]
    assert not [a.title for a in actions if "cuda" in a.title or "xpu" in a.title]


async def test_lenses_of_an_nki_kernel_estimate_it_and_offer_its_optimization(
    talk: Conversation,
) -> None:
    await talk.begin()
    talk.open(text=OLDER)
    lenses = await talk.lenses()
    assert lenses[-1] == "Optimize…"
    first, second = lenses[:2]
    assert re.fullmatch(
        r"trn1: [\d.]+ ms \([\d.]+ to [\d.]+\), .* bound, \d+% of roofline, "
        "estimated, not measured",
        first,
    )
    assert second.startswith("trn2: ")


def test_a_kernel_of_unknown_sizes_is_estimated_for_the_case_that_its_spec_measures() -> None:
    text = OLDER.replace("0:2048])\n        total", "0 : x.shape[1]])\n        total")
    module = parse_module(text.replace("affine_range(32)", "affine_range(x.shape[0] // 128)"))
    (kernel,) = module.kernels
    unknown = kernel_estimates(module, kernel, None)
    assert [title for title, _ in lens_titles(unknown)] == ["not estimated: sizes are not known"]
    assert "x.shape[0] // 128" in estimate_card(unknown[0])
    inputs = (Input("X", (4096, 2048), "bfloat16"), Input("G", (1, 2048), "bfloat16"))
    case = Case("bench-trn", 0, {}, "bfloat16", inputs)
    entry = Entry(EntryKind.FUNCTION, "normalize")
    problem = Problem("k.yaml", "hash", entry, None, {"bench-trn": (case,)}, "bench-trn")
    known = kernel_estimates(module, kernel, problem)
    assert [chip for _, chip in lens_titles(known)] == ["neuron:trn1", "neuron:trn2"]
    assert "- Sizes of bench-trn[0] in the spec" in estimate_card(known[1])
    other = replace(problem, content_hash="other", entry=Entry(EntryKind.FUNCTION, "another"))
    assert kernel_estimates(module, kernel, other) == unknown


def test_an_estimate_of_a_line_names_the_engines_it_keeps_busy() -> None:
    card = _card(OLDER, "nl.rsqrt", 4)
    assert re.search(r"- This line on trn2: .*Scalar engine [\d.e-]+ ms.*, estimated", card)


SPEC = """\
name: normalize
entry: normalize
default_variant: bench-trn
inputs:
  X: {shape: [ROWS, COLS], dtype: inherit}
  G: {shape: [1, COLS], dtype: inherit}
ci:
  - {params: [X, G], dtype: bfloat16, dims: {ROWS: 128, COLS: 2048}}
bench-trn:
  - {params: [X, G], dtype: bfloat16, dims: {ROWS: 4096, COLS: 2048}}
"""


async def test_the_spec_next_to_the_file_has_the_sizes_of_the_estimate(talk: Conversation) -> None:
    (talk.folder / "kernel.yaml").write_text(SPEC)
    await talk.begin()
    talk.open(text=OLDER.replace("affine_range(32)", "affine_range(x.shape[0] // 128)"))
    assert any(title.startswith("trn2: ") for title in await talk.lenses())
    card = await talk.hover(6, 6) or ""
    assert "**AWS Trainium2 (NeuronCore-v3)**" in card
    assert "Sizes of bench-trn[0] in the spec" in card


async def test_saving_an_nki_file_with_a_spec_profiles_it(talk: Conversation) -> None:
    (talk.folder / "kernel.yaml").write_text(SPEC)
    await talk.begin()
    talk.open(text=f"# engine: profile\n{OLDER}")
    talk.save()
    await until(lambda: talk.finished)
    (job,) = await talk.jobs()
    assert (job["kind"], job["target"]) == ("profile", "neuron:trn2")
