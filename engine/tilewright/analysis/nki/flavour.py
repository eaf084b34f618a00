"""Infer the NKI package of a file without imports from the names that it uses."""

import ast

from tilewright.analysis.per_kernel import per_module
from tilewright.knowledge.nki import NkiFile, nki_interface
from tilewright.source.model import Language, Module, NkiFlavour
from tilewright.source.names import Names

_PACKAGES = ("nki", "neuronxcc", "torch_neuronx")


@per_module
def flavour_of(module: Module) -> NkiFlavour | None:
    """The package a file imports; if it imports none, the one whose names and calls it uses.

    None where it imports both, what it uses does not decide, or it has no kernel.
    """
    if module.nki_flavour is not None:
        return module.nki_flavour
    if any(name.partition(".")[0] in _PACKAGES for name in module.names.imports):
        return None
    if Language.NKI not in module.lookup.languages:
        return None
    return _told_by_use(module)


def _told_by_use(module: Module) -> NkiFlavour | None:
    older, newer = nki_interface("neuronxcc"), nki_interface("nki")
    found: set[NkiFlavour] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            found |= _by_name(module.names.resolve(node), older, newer)
        elif isinstance(node, ast.Call):
            found |= _by_call(node, module.names, older, newer)
        if len(found) > 1:
            return None
    return next(iter(found), None)


def _by_name(dotted: str | None, older: NkiFile, newer: NkiFile) -> set[NkiFlavour]:
    if dotted is None or not dotted.startswith(("nki.language.", "nki.isa.")):
        return set()
    if (dotted in older.names) is (dotted in newer.names):
        return set()
    return {NkiFlavour.NEURONXCC if dotted in older.names else NkiFlavour.NKI}


def _by_call(node: ast.Call, names: Names, older: NkiFile, newer: NkiFile) -> set[NkiFlavour]:
    dotted = names.resolve(node.func) or ""
    one, two = older.functions.get(dotted), newer.functions.get(dotted)
    if one is None or two is None:
        return set()
    found = set()
    for keyword in node.keywords:
        takes = [any(keyword.arg in s.names for s in f.signatures) for f in (one, two)]
        if keyword.arg in ("dst", "mask") and takes[0] is not takes[1]:
            found.add(NkiFlavour.NEURONXCC if takes[0] else NkiFlavour.NKI)
    return found
