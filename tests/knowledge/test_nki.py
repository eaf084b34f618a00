"""The interface of the two NKI packages, as the knowledge base states it."""

import pytest

from tilewright.analysis.nki.catalogue import FUNCTIONS
from tilewright.knowledge.files import knowledge_root, read_folder
from tilewright.knowledge.nki import NkiNotesFile, nki_interface, nki_note


def test_results_are_returned_by_the_older_and_written_to_dst_by_the_newer() -> None:
    older = nki_interface("neuronxcc").functions["nki.isa.activation"]
    newer = nki_interface("nki").functions["nki.isa.activation"]
    assert (older.makes, older.signatures[0].positional) == ("tile", ("op", "data"))
    assert newer.makes == "nothing"
    assert newer.signatures[0].required == ("dst", "op", "data")


def test_a_parameter_says_how_it_is_passed() -> None:
    signature = nki_interface("neuronxcc").functions["nki.language.broadcast_to"].signatures[0]
    assert [(p.name, p.is_required, p.is_keyword_only) for p in signature.parameters] == [
        ("src", True, False),
        ("shape", True, True),
    ]
    assert signature.is_open
    assert not signature.is_variadic


def test_several_releases_have_several_forms() -> None:
    takes = nki_interface("nki").functions["nki.isa.affine_select"].takes
    assert len(takes) > 1


@pytest.mark.parametrize("flavour", ["neuronxcc", "nki"])
def test_names_hold_functions_constants_and_members(flavour: str) -> None:
    names = nki_interface(flavour).names  # type: ignore[arg-type]
    assert {"nki.isa.nc_matmul", "nki.language.sbuf", "nki.language.tile_size.pmax"} <= names
    assert "nki.isa.matmul" not in names


def test_block_dimensions_ended_with_the_older_package() -> None:
    assert "nki.language.par_dim" in nki_interface("neuronxcc").names
    assert "nki.language.par_dim" not in nki_interface("nki").names


def test_every_stated_engine_belongs_to_a_parameter() -> None:
    for flavour in ("neuronxcc", "nki"):
        for name, function in nki_interface(flavour).functions.items():  # type: ignore[arg-type]
            if function.engines:
                assert any("engine" in s.names for s in function.signatures), name


def test_notes_are_of_names_that_a_package_has_and_each_name_has_one() -> None:
    offered = nki_interface("neuronxcc").names | nki_interface("nki").names
    (file,) = read_folder(knowledge_root(), "nki_notes", NkiNotesFile)
    names = [name for note in file.notes for name in note.names]
    assert set(names) <= offered
    assert len(names) == len(set(names))


def test_instructions_of_the_benchmark_have_notes_with_an_engine() -> None:
    for name in ("load", "store", "copy", "add", "exp", "sum"):
        assert nki_note(f"nki.language.{name}").engines  # type: ignore[union-attr]
    instructions = [n for n in FUNCTIONS if n.startswith("nki.isa.")]
    without = [name for name in instructions if nki_note(name) is None]
    assert len(without) <= len(instructions) // 5, without
