"""Notes on the names of triton.language and on launch options: complete, and true of this one."""

import inspect

import pytest

from tilewright.knowledge.api import language_api
from tilewright.knowledge.base import all_constraints
from tilewright.knowledge.language_notes import arguments_of, language_note, launch_options


def test_every_name_of_the_catalogue_has_a_note() -> None:
    names = language_api().names
    assert len(names) > 150
    assert [name for name in names if language_note(f"triton.language.{name}") is None] == []


def test_notes_are_whole_sentences_and_short() -> None:
    for name in language_api().names:
        note = language_note(f"triton.language.{name}")
        assert note is not None
        for sentence in (note.does, *note.limits):
            assert sentence.endswith("."), sentence
            assert "  " not in sentence


def test_keywords_of_the_catalogue_are_parameters_of_the_notes() -> None:
    api = language_api()
    for name in api.names:
        listed = {argument.name for argument in arguments_of(f"triton.language.{name}", None)}
        assert listed >= set(api.keywords_of(name)), name


def test_parameters_follow_the_version() -> None:
    def names(minor: int) -> list[str]:
        return [a.name for a in arguments_of("triton.language.load", (3, minor))]

    assert "boundary_check" in names(8)
    assert "boundary_check" not in names(9)
    assert names(9)[:3] == ["pointer", "mask", "other"]


def test_math_shares_the_notes_and_the_host_has_its_own() -> None:
    assert language_note("triton.language.math.exp") is language_note("triton.language.exp")
    config = language_note("triton.Config")
    assert config is not None
    assert [a.name for a in config.arguments][:3] == ["kwargs", "num_warps", "num_stages"]
    assert language_note("torch.exp") is None


def test_values_are_of_parameters() -> None:
    for name in language_api().names:
        note = language_note(f"triton.language.{name}")
        assert note is not None
        assert set(note.values) <= {argument.name for argument in note.arguments}, name


def test_every_option_that_a_constraint_is_about_has_a_note() -> None:
    about = {str(c.check.parameters["option"]) for c in all_constraints() if _is_of_option(c)}
    assert about
    assert about <= launch_options().keys()


def _is_of_option(constraint: object) -> bool:
    return "option" in constraint.check.parameters  # type: ignore[attr-defined]


def test_the_backends_of_an_option_are_those_that_accept_it() -> None:
    for constraint in all_constraints():
        if constraint.check.name == "option_forbidden":
            option = launch_options()[str(constraint.check.parameters["option"])]
            assert not set(option.backends) & set(constraint.applies_to.backends), constraint.id


@pytest.mark.triton
def test_the_installed_language_takes_what_the_notes_say() -> None:
    import triton
    import triton.language as tl

    major, minor = map(int, triton.__version__.split(".")[:2])
    version = (major, minor)
    if not language_api().first <= version <= language_api().last:
        pytest.skip("the installed Triton is not one of the catalogue's")
    checked = 0
    for name in language_api().names:
        dotted = f"triton.language.{name}"
        note, found = language_note(dotted), tl
        for part in name.split("."):
            found = getattr(found, part, None)
        if note is None or note.takes is None or found is None:
            continue
        parameters = inspect.signature(getattr(found, "fn", found)).parameters
        public = [p for p in parameters if not p.startswith("_")]
        assert [a.name for a in arguments_of(dotted, version)] == public, name
        checked += 1
    assert checked > 100
