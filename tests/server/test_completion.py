"""Completion and signature help inside kernels, launches and configurations, over the wire."""

import pytest
from conversation import Conversation
from lsprotocol import types

MATMUL = """\
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=4),
    ],
    key=["K"],
)
@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + ks[None, :] + k)
        y = tl.load(b + ks[:, None] * BN + cols[None, :] + k)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * BN + cols[None, :], acc)


@triton.jit
def plain(x, BLOCK: tl.constexpr):
    pass


def host(a, b, c):
    grid = (1,)
    plain[grid](a, BLOCK=64)
"""


async def _opened(talk: Conversation, **options: str) -> None:
    await talk.begin(**options)
    await talk.settled()
    talk.open(text=MATMUL)
    await talk.lenses()  # The first analysis is finished.


async def _typed(talk: Conversation, old: str, new: str) -> types.Position:
    """Replace a part of the text by one with ``|`` at the cursor; the place of the cursor."""
    text = MATMUL.replace(old, new, 1)
    before = text[: text.index("|")].split("\n")
    talk.replace(text.replace("|", "", 1))
    return types.Position(len(before) - 1, len(before[-1]))


async def _completed(talk: Conversation, old: str, new: str) -> dict[str, types.CompletionItem]:
    place = await _typed(talk, old, new)
    found = await talk.client.text_document_completion_async(
        types.CompletionParams(types.TextDocumentIdentifier(talk.uri), place)
    )
    assert isinstance(found, types.CompletionList)
    return {item.label: item for item in found.items}


async def _signature(talk: Conversation, old: str, new: str) -> types.SignatureHelp | None:
    place = await _typed(talk, old, new)
    return await talk.client.text_document_signature_help_async(
        types.SignatureHelpParams(types.TextDocumentIdentifier(talk.uri), place)
    )


async def test_members_are_those_of_the_projects_triton(talk: Conversation) -> None:
    (talk.folder / "pyproject.toml").write_text('[tool.tilewright]\ntriton = "3.5"\n')
    await _opened(talk)
    found = await _completed(talk, "acc = tl.zeros((BM, BN), dtype=tl.float32)", "acc = tl.|")
    assert {"load", "dot", "float32", "make_block_ptr", "map_elementwise"} <= found.keys()
    assert not {"squeeze", "atomic_poll", "async_task_gone", "core"} & found.keys()
    assert found["map_elementwise"].detail == "since Triton 3.5"
    assert found["make_block_ptr"].detail == "until Triton 3.9"
    assert found["load"].documentation is None
    resolved = await talk.client.completion_item_resolve_async(found["load"])
    assert isinstance(resolved.documentation, types.MarkupContent)
    assert "Reads the element at each address" in resolved.documentation.value


async def test_the_math_module_has_its_own_members(talk: Conversation) -> None:
    await _opened(talk)
    found = await _completed(talk, "acc = tl.zeros(", "acc = tl.math.e|; (")
    assert {"exp", "exp2", "erf"} <= found.keys()
    assert "load" not in found


async def test_host_code_gets_nothing(talk: Conversation) -> None:
    await _opened(talk)
    assert await _completed(talk, "grid = (1,)", "grid = tl.|") == {}
    assert await _completed(talk, "grid = (1,)", "grid = |") == {}
    assert await _completed(talk, "BN), dtype", "BN), # tl.|\n dtype") == {}


async def test_parameters_and_values_of_a_call(talk: Conversation) -> None:
    await _opened(talk)
    load = "x = tl.load(a + rows[:, None] * K + ks[None, :] + k)"
    found = await _completed(talk, load, "x = tl.load(a, mask=rows, |")
    assert "other=" in found
    assert not {"mask=", "pointer="} & found.keys()
    found = await _completed(talk, load, "x = tl.load(a, eviction_policy=|)")
    assert list(found)[:2] == ['"evict_first"', '"evict_last"']
    found = await _completed(talk, load, 'x = tl.load(a, eviction_policy="ev|')
    assert {"evict_first", "evict_last"} == found.keys()


async def test_constexprs_inside_the_kernel(talk: Conversation) -> None:
    await _opened(talk)
    found = await _completed(talk, "for k in range(0, K, BK):", "for k in range(0, K, B|")
    assert found["BK"].detail == "constexpr, 64"


async def test_a_configuration_offers_keys_options_and_sizes_that_fit(talk: Conversation) -> None:
    await _opened(talk, target="cuda:90")
    config = '{"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=4)'
    keys = await _completed(talk, config, '{"BM": 128, "|')
    assert {"BN", "BK"} <= keys.keys()
    assert not {"BM", "waves_per_eu", "grf_mode"} & keys.keys(), "options of other vendors"
    sizes = await _completed(talk, config, '{"BM": 128, "BN": 256, "BK": |}, num_stages=4)')
    # (128 + 256) * BK * 2 bytes, four stages: 64 takes 192 KiB of 227, 128 does not fit.
    assert [label for label in sizes if label.isdigit()] == ["16", "32", "64"]
    assert sizes["64"].detail == "192 KiB of 227 KiB shared memory"
    warps = await _completed(talk, config, '{"BM": 128}, num_warps=|')
    assert list(warps) == ["1", "2", "4", "8", "16", "32"]
    rest = await _completed(talk, config, '{"BM": 128}, num_warps=8, |')
    assert rest.keys() == {"num_stages=", "num_ctas=", "maxnreg="}


async def test_options_are_those_of_the_chip(talk: Conversation) -> None:
    await _opened(talk, target="hip:gfx942")
    config = '{"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=4)'
    assert "waves_per_eu" in await _completed(talk, config, '{"BM": 128, "|')
    warps = await _completed(talk, config, '{"BM": 128}, num_warps=|')
    assert list(warps) == ["1", "2", "4", "8", "16"]


async def test_a_launch_offers_its_parameters_first(talk: Conversation) -> None:
    await _opened(talk, target="cuda:90")
    found = await _completed(talk, "plain[grid](a, BLOCK=64)", "plain[grid](a, |")
    assert next(iter(found)) == "BLOCK="
    assert "num_warps=" in found
    assert "x=" not in found
    found = await _completed(talk, "plain[grid](a, BLOCK=64)", "plain[grid](a, BLOCK=64, num_wa|")
    assert "BLOCK=" not in found


@pytest.mark.parametrize(
    ("typed", "active"),
    [("tl.load(|", 0), ("tl.load(a, |", 1), ("tl.load(a, other=|", 2), ("tl.load(f(1, 2), m|", 1)],
)
async def test_signature_help_of_a_call(talk: Conversation, typed: str, active: int) -> None:
    await _opened(talk)
    load = "tl.load(a + rows[:, None] * K + ks[None, :] + k)"
    found = await _signature(talk, load, typed)
    assert found is not None
    (form,) = found.signatures
    assert form.label.startswith("tl.load(pointer, mask=None, other=None")
    assert form.documentation == (
        "Reads the element at each address; where mask is False it reads none and gives other."
    )
    assert found.active_parameter == active


async def test_signature_help_of_a_launch_and_a_configuration(talk: Conversation) -> None:
    await _opened(talk)
    found = await _signature(talk, "plain[grid](a, BLOCK=64)", "plain[grid](a, |")
    assert found is not None
    assert found.signatures[0].label == "plain(x, BLOCK: constexpr, num_warps=, num_stages=)"
    assert found.active_parameter == 1
    found = await _signature(talk, "num_stages=4),", "num_stages=|")
    assert found is not None
    assert found.signatures[0].label.startswith("triton.Config(kwargs, num_warps=4, num_stages=3")
    assert found.active_parameter == 2
    assert await _signature(talk, "grid = (1,)", "grid = print(|") is None


async def test_nki_members_and_forms(talk: Conversation) -> None:
    await talk.begin()
    text = "import nki\nimport nki.language as nl\n\n\n@nki.jit\ndef k(a):\n    x = nl.load(a)\n"
    talk.open(text=text)
    await talk.lenses()
    talk.replace(text.replace("nl.load(a)", "nl."))
    where = types.TextDocumentIdentifier(talk.uri)
    found = await talk.client.text_document_completion_async(
        types.CompletionParams(where, types.Position(6, 11))
    )
    assert isinstance(found, types.CompletionList)
    assert {"add", "float32"} <= {item.label for item in found.items}
    talk.replace(text.replace("nl.load(a)", "nl.add(a, "))
    shown = await talk.client.text_document_signature_help_async(
        types.SignatureHelpParams(where, types.Position(6, 18))
    )
    assert shown is not None
    assert shown.signatures[0].label.startswith("nl.add(x, y")
    assert shown.active_parameter == 1
