"""Symbols, folding, tokens, definition, references, rename and call hierarchy on the wire."""

from pathlib import Path
from typing import Any

import pytest
from conversation import Conversation, capabilities
from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException

from tilewright_server.features.semantic_tokens import LEGEND
from tilewright_server.positions import Encoding, to_units

TEXT = '''\
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK": 32}, num_warps=4),
    triton.Config({"BLOCK": 64}, num_warps=8),
]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.heuristics({"EVEN": lambda args: "🎉" and args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """Grüße 🎉"""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    "🎉é"; x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, 2 * x, mask=mask)


@triton.jit
def add(x_ptr, n, SIZE: tl.constexpr):
    offs = tl.arange(0, SIZE)
    tl.store(x_ptr + offs, offs, mask=offs < n)


def double(x, y):
    n = x.numel()
    grid = lambda META: ("é" and triton.cdiv(n, META["BLOCK"]),)
    scale[grid](x, y, n)
    return y


def twice(x, y):
    return double(double(x, y), y)


def both(x, n):
    "🎉"; add[(1,)](x, n, SIZE=128); add[(2,)](x, n, SIZE=64)
'''
LINES = TEXT.split("\n")


def with_encoding(kind: Encoding) -> types.ClientCapabilities:
    """A client that counts in these units, and shows outlines as trees."""
    made = capabilities(
        general=types.GeneralClientCapabilities(
            position_encodings=[types.PositionEncodingKind(kind.value)]
        )
    )
    assert made.text_document is not None
    made.text_document.document_symbol = types.DocumentSymbolClientCapabilities(
        hierarchical_document_symbol_support=True
    )
    made.text_document.rename = types.RenameClientCapabilities(prepare_support=True)
    return made


class Places:
    """Positions in the text in a client's units."""

    def __init__(self, kind: Encoding, lines: list[str] = LINES) -> None:
        self.kind = kind
        self.lines = lines

    def range(self, line: int, word: str, nth: int = 1) -> types.Range:
        """The nth occurrence of a word on a line, counted from 0."""
        column = -1
        for _ in range(nth):
            column = self.lines[line].index(word, column + 1)
        first = to_units(self.lines[line], column, self.kind)
        last = to_units(self.lines[line], column + len(word), self.kind)
        return types.Range(types.Position(line, first), types.Position(line, last))

    def text(self, place: types.Range) -> str:
        """What a range covers."""
        width = [to_units(c, 1, self.kind) for c in self.lines[place.start.line]]
        offsets = [sum(width[:n]) for n in range(len(width) + 1)]
        start = offsets.index(place.start.character)
        return self.lines[place.start.line][start : offsets.index(place.end.character)]


def line_of(phrase: str) -> int:
    (found,) = [n for n, line in enumerate(LINES) if phrase in line]
    return found


NAMES = {
    "first": (line_of('"BLOCK": 32'), "BLOCK", 1),
    "second": (line_of('"BLOCK": 64'), "BLOCK", 1),
    "heuristic": (line_of("heuristics"), "BLOCK", 1),
    "signature": (line_of("def scale"), "BLOCK", 1),
    "body": (line_of("offs = tl.program_id"), "BLOCK", 1),
    "again": (line_of("offs = tl.program_id"), "BLOCK", 2),
    "grid": (line_of("META"), "BLOCK", 1),
}
SIZES = (
    (line_of("def add"), "SIZE", 1),
    (line_of("tl.arange(0, SIZE)"), "SIZE", 1),
    (line_of("add[(1,)]"), "SIZE", 1),
    (line_of("add[(1,)]"), "SIZE", 2),
)


@pytest.fixture(params=list(Encoding), ids=str)
def places(request: pytest.FixtureRequest) -> Places:
    return Places(request.param)


async def begin(talk: Conversation, kind: Encoding = Encoding.UTF16, text: str = TEXT) -> None:
    await talk.begin(with_encoding(kind))
    talk.open(text=text)


def at(talk: Conversation, position: types.Position) -> dict[str, Any]:
    return {"text_document": types.TextDocumentIdentifier(talk.uri), "position": position}


async def test_an_outline_has_kernels_constexprs_configurations_and_launches(
    talk: Conversation, places: Places
) -> None:
    await begin(talk, places.kind)
    found = await talk.client.text_document_document_symbol_async(
        types.DocumentSymbolParams(types.TextDocumentIdentifier(talk.uri))
    )
    assert found is not None
    symbols = [s for s in found if isinstance(s, types.DocumentSymbol)]
    assert [(s.name, s.detail) for s in symbols] == [
        ("scale configurations", "2 configurations"),
        ("scale", "2 constexprs, 2 configurations, 1 launch"),
        ("add", "1 constexpr, 2 launches"),
        ("scale[grid]", "in double"),
        ("add[grid]", "in both"),
        ("add[grid]", "in both"),
    ]
    listed = [child.name for child in symbols[0].children or ()]
    assert listed == ["BLOCK=32, num_warps=4", "BLOCK=64, num_warps=8"]
    assert [child.name for child in symbols[1].children or ()] == ["BLOCK", "EVEN"]
    assert places.text(symbols[1].selection_range) == "scale"
    assert places.text(symbols[5].selection_range) == "add[(2,)]"


async def test_a_client_without_trees_gets_a_flat_outline(talk: Conversation) -> None:
    await talk.begin()
    talk.open(text=TEXT)
    found = await talk.client.text_document_document_symbol_async(
        types.DocumentSymbolParams(types.TextDocumentIdentifier(talk.uri))
    )
    assert found is not None
    flat = [s for s in found if isinstance(s, types.SymbolInformation)]
    assert [(s.name, s.container_name) for s in flat][2:5] == [
        ("BLOCK=64, num_warps=8", "scale configurations"),
        ("scale", None),
        ("BLOCK", "scale"),
    ]


async def test_kernels_of_the_workspace_are_found_by_letters_of_their_names(
    talk: Conversation,
) -> None:
    (talk.folder / "other.py").write_text(TEXT.replace("def scale", "def rescale"))
    (talk.folder / "plain.py").write_text("def scale():\n    pass\n")
    await begin(talk)

    async def ask(query: str) -> list[tuple[str, str, int]]:
        found = await talk.client.workspace_symbol_async(types.WorkspaceSymbolParams(query))
        return sorted(
            (s.name, Path(s.location.uri).name, s.location.range.start.line)
            for s in found or ()
            if isinstance(s, types.SymbolInformation)
        )

    line = line_of("def scale")
    assert await ask("kernel:scl") == [("rescale", "other.py", line), ("scale", "kernel.py", line)]
    talk.replace(TEXT.replace("def scale", "def shrink"))
    assert await ask("shr") == [("shrink", "kernel.py", line)], "as it is in the editor"


async def test_kernels_and_lists_of_configurations_are_folded(talk: Conversation) -> None:
    await begin(talk)
    params = types.FoldingRangeParams(types.TextDocumentIdentifier(talk.uri))
    found = await talk.client.text_document_folding_range_async(params)
    folds = {(f.start_line, f.end_line) for f in found or ()}
    last = line_of("tl.store(y_ptr")
    assert {(3, 6), (line_of("@triton.autotune"), last), (line_of("def scale"), last)} <= folds
    assert (line_of("def twice"), line_of("return double")) in folds, "host code as well"
    talk.open(text="def f():\n    x = (\n        1)\n", name="plain.py")
    assert (
        await talk.client.text_document_folding_range_async(
            types.FoldingRangeParams(types.TextDocumentIdentifier(talk.uri))
        )
        is None
    ), "without kernels the editor folds by itself"


def decoded(data: list[int], places: Places) -> list[tuple[str, str, tuple[str, ...]]]:
    """The words of tokens with their types and modifiers."""
    found, line, column = [], 0, 0
    for n in range(0, len(data), 5):
        ahead, over, length, kind, bits = data[n : n + 5]
        column = over if ahead else column + over
        line += ahead
        there = types.Range(types.Position(line, column), types.Position(line, column + length))
        modifiers = tuple(m for b, m in enumerate(LEGEND.token_modifiers) if bits >> b & 1)
        found.append((places.text(there), LEGEND.token_types[kind], modifiers))
    return found


async def test_names_in_kernels_say_what_they_are_to_the_compiler(
    talk: Conversation, places: Places
) -> None:
    await begin(talk, places.kind)
    document = types.TextDocumentIdentifier(talk.uri)
    full = await talk.client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(document)
    )
    assert full is not None
    words = decoded(list(full.data), places)
    assert ("BLOCK", "parameter", ("readonly", "constexpr")) in words
    assert ("x_ptr", "parameter", ("pointer",)) in words
    assert ("offs", "variable", ("tile",)) in words
    assert ("mask", "variable", ("mask",)) in words
    assert not any(word == "n" for word, _, _ in words), "a number at run time"
    line = line_of("x = tl.load")
    place = types.Range(types.Position(line, 0), types.Position(line, 1))
    part = await talk.client.text_document_semantic_tokens_range_async(
        types.SemanticTokensRangeParams(document, place)
    )
    assert part is not None
    on_line = [word for word, _, _ in decoded(list(part.data), places)]
    assert on_line == ["x", "x_ptr", "offs", "mask"]


async def test_an_edit_sends_the_tokens_that_changed(talk: Conversation) -> None:
    await begin(talk)
    document = types.TextDocumentIdentifier(talk.uri)
    ask = talk.client.text_document_semantic_tokens_full_async
    full = await ask(types.SemanticTokensParams(document))
    assert full is not None
    assert full.result_id is not None
    talk.replace(TEXT.replace("2 * x, mask=mask", "x + x, mask=mask"))
    delta = await talk.client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document, full.result_id)
    )
    assert isinstance(delta, types.SemanticTokensDelta)
    (edit,) = delta.edits
    data = list(full.data)
    data[edit.start : edit.start + edit.delete_count] = edit.data or ()
    whole = await ask(types.SemanticTokensParams(document))
    assert whole is not None
    assert data == list(whole.data)
    assert len(edit.data or ()) < len(data) / 2
    stale = await talk.client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document, "no such answer")
    )
    assert isinstance(stale, types.SemanticTokens)


async def test_tokens_can_be_turned_off(talk: Conversation) -> None:
    await talk.begin(semanticTokens=False)
    talk.open(text=TEXT)
    params = types.SemanticTokensParams(types.TextDocumentIdentifier(talk.uri))
    assert await talk.client.text_document_semantic_tokens_full_async(params) is None


async def test_what_names_a_parameter_leads_to_it(talk: Conversation, places: Places) -> None:
    await begin(talk, places.kind)
    target = places.range(*NAMES["signature"])
    for name, where in NAMES.items():
        found = await talk.client.text_document_definition_async(
            types.DefinitionParams(**at(talk, places.range(*where).start))
        )
        if name in ("body", "again"):
            assert found is None, "Python's server knows"
        else:
            assert found == types.Location(talk.uri, target), name
    launch = places.range(line_of("add[(1,)]"), "add", 2)
    found = await talk.client.text_document_definition_async(
        types.DefinitionParams(**at(talk, launch.start))
    )
    assert found == types.Location(talk.uri, places.range(line_of("def add"), "add"))


async def references(
    talk: Conversation, where: types.Position, declaration: bool = True
) -> list[types.Location]:
    context = types.ReferenceContext(include_declaration=declaration)
    found = await talk.client.text_document_references_async(
        types.ReferenceParams(context=context, **at(talk, where))
    )
    return list(found or ())


async def test_references_of_a_constexpr_are_in_configurations_and_grids(
    talk: Conversation, places: Places
) -> None:
    await begin(talk, places.kind)
    expected = sorted(
        (places.range(*where) for where in NAMES.values()),
        key=lambda r: (r.start.line, r.start.character),
    )
    for where in NAMES.values():
        found = await references(talk, places.range(*where).start)
        assert [one.range for one in found] == expected
    without = await references(talk, expected[0].start, declaration=False)
    assert [one.range for one in without] == [
        place for place in expected if place != places.range(*NAMES["signature"])
    ]


async def test_references_of_a_kernel_are_its_launches_and_its_spec(talk: Conversation) -> None:
    spec = talk.folder / "kernel.yaml"
    (talk.folder / "plain.py").write_text("def double(x, y):\n    return 2 * x\n")
    spec.write_text(
        "# 🎉\nentry: double\nreference: {file: plain.py, entry: double}\n"
        "inputs:\n  x: {shape: [n], dtype: float32}\n"
        "  y: {shape: [n], dtype: float32}\nci:\n  - {params: [x, y], dims: {n: 64}}\n"
    )
    await begin(talk)
    places = Places(Encoding.UTF16)
    found = await references(talk, places.range(line_of("def scale"), "scale").start)
    in_spec = types.Range(types.Position(1, 7), types.Position(1, 13))
    assert found == [
        types.Location(talk.uri, places.range(line_of("def scale"), "scale")),
        types.Location(talk.uri, places.range(line_of("scale[grid]"), "scale")),
        types.Location(str(uris.from_fs_path(str(spec))), in_spec),
    ]
    others = await references(talk, places.range(line_of("def add"), "add").start)
    assert len(others) == 3, "what the spec does not run is not in it"


async def rename(talk: Conversation, where: types.Position, new: str) -> types.WorkspaceEdit:
    found = await talk.client.text_document_rename_async(
        types.RenameParams(new_name=new, **at(talk, where))
    )
    assert found is not None
    return found


async def test_a_constexpr_is_renamed_in_all_its_places(talk: Conversation, places: Places) -> None:
    await begin(talk, places.kind)
    for where in (*NAMES.values(), *SIZES):
        position = places.range(*where).start
        prepared = await talk.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(**at(talk, position))
        )
        assert prepared == types.PrepareRenamePlaceholder(places.range(*where), where[1])
    for wanted in (tuple(NAMES.values()), SIZES):
        edit = await rename(talk, places.range(*wanted[0]).start, "TILE_é")
        (change,) = edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.version == talk.version
        assert [e.range for e in change.edits] == sorted(
            (places.range(*where) for where in wanted),
            key=lambda r: (r.start.line, r.start.character),
        )
        assert {e.new_text for e in change.edits if isinstance(e, types.TextEdit)} == {"TILE_é"}


async def refusal(talk: Conversation, where: types.Position, new: str) -> str:
    with pytest.raises(JsonRpcException) as refused:
        await rename(talk, where, new)
    return refused.value.message


async def test_a_rename_that_may_miss_a_place_is_refused_with_the_reason(
    talk: Conversation,
) -> None:
    await begin(talk, text=TEXT + "\n\ndef show(best):\n    return best.kwargs['BLOCK']\n")
    places = Places(Encoding.UTF16)
    where = places.range(*NAMES["signature"]).start
    line = len(LINES) + 3
    said = await refusal(talk, where, "TILE")
    assert (
        said == f"BLOCK cannot be renamed everywhere: line {line}: the string 'BLOCK' may name it"
    )
    with pytest.raises(JsonRpcException, match="the string 'BLOCK' may name it"):
        await talk.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(**at(talk, where))
        )
    talk.replace(TEXT)
    assert "not a name in Python" in await refusal(talk, where, "a b")
    assert "has a parameter EVEN already" in await refusal(talk, where, "EVEN")
    assert "has another meaning on line" in await refusal(talk, where, "offs")
    assert "option of the compiler" in await refusal(talk, where, "num_warps")
    (talk.folder / "caller.py").write_text("from kernel import scale\nB = 'BLOCK'\n")
    said = await refusal(talk, where, "TILE")
    assert said.endswith("caller.py, line 2: the string 'BLOCK' may name it")


async def test_other_names_are_left_to_pythons_server(talk: Conversation) -> None:
    await begin(talk)
    places = Places(Encoding.UTF16)
    for where in ((line_of("def scale"), "n,", 1), (line_of("def twice"), "twice", 1)):
        params = types.PrepareRenameParams(**at(talk, places.range(*where).start))
        assert await talk.client.text_document_prepare_rename_async(params) is None


async def test_calls_lead_from_a_kernel_to_the_host_functions_above_it(
    talk: Conversation, places: Places
) -> None:
    await begin(talk, places.kind)
    (kernel,) = (
        await talk.client.text_document_prepare_call_hierarchy_async(
            types.CallHierarchyPrepareParams(
                **at(talk, places.range(line_of("scale[grid]"), "scale").start)
            )
        )
        or ()
    )
    assert places.text(kernel.selection_range) == kernel.name == "scale"
    (launch,) = (
        await talk.client.call_hierarchy_incoming_calls_async(
            types.CallHierarchyIncomingCallsParams(kernel)
        )
        or ()
    )
    assert launch.from_.name == "double"
    assert [places.text(place) for place in launch.from_ranges] == ["scale"]
    (above,) = (
        await talk.client.call_hierarchy_incoming_calls_async(
            types.CallHierarchyIncomingCallsParams(launch.from_)
        )
        or ()
    )
    assert above.from_.name == "twice"
    assert [places.text(place) for place in above.from_ranges] == ["double", "double"]
    (below,) = (
        await talk.client.call_hierarchy_outgoing_calls_async(
            types.CallHierarchyOutgoingCallsParams(above.from_)
        )
        or ()
    )
    assert below.to.name == "double"
    (last,) = (
        await talk.client.call_hierarchy_outgoing_calls_async(
            types.CallHierarchyOutgoingCallsParams(below.to)
        )
        or ()
    )
    assert (last.to.name, last.to.detail) == ("scale", "kernel")
    (both,) = (
        await talk.client.text_document_prepare_call_hierarchy_async(
            types.CallHierarchyPrepareParams(
                **at(talk, places.range(line_of("def both"), "both").start)
            )
        )
        or ()
    )
    (added,) = (
        await talk.client.call_hierarchy_outgoing_calls_async(
            types.CallHierarchyOutgoingCallsParams(both)
        )
        or ()
    )
    assert [places.text(place) for place in added.from_ranges] == ["add", "add"]
