"""The call that is open at a place: its parameters, and which of them is being typed."""

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.knowledge.api import Version
from tilewright.knowledge.language_notes import arguments_of, language_note, launch_options
from tilewright.knowledge.nki import nki_interface, nki_note
from tilewright.source.cursor import Cursor, OpenCall
from tilewright.source.model import Kernel, Module, NkiFlavour
from tilewright_server.language_places import dotted_name, launched_kernel


@dataclass(frozen=True)
class CallSignature:
    """One form of a call.

    Attributes:
        parameters: as they are in the label, each with a sentence or nothing.
        active: the number of the one being typed; None where it is none of them.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    active: int | None
    text: str

    @property
    def label(self) -> str:
        return f"{self.name}({', '.join(label for label, _ in self.parameters)})"


def signatures(
    module: Module, cursor: Cursor, version: Version | None, backend: str | None
) -> list[CallSignature]:
    """The forms of the innermost open call that is known; none for calls of other code."""
    if cursor.in_comment:
        return []
    call = cursor.call
    if call is None:
        return []
    kernel = launched_kernel(module, call)
    if kernel is not None:
        return [_launch(kernel, call, backend)]
    dotted = dotted_name(module, call.callee)
    if dotted is None:
        return []
    note = language_note(dotted)
    if note is not None and note.takes is not None:
        parameters = tuple(
            (str(a), f"One of {', '.join(note.values[a.name])}." if a.name in note.values else "")
            for a in arguments_of(dotted, version)
        )
        return [CallSignature(call.callee, parameters, _active(call, parameters), note.does)]
    return list(_of_nki(module, dotted, call)) if dotted.startswith("nki.") else []


def _of_nki(module: Module, dotted: str, call: OpenCall) -> Iterator[CallSignature]:
    interface = nki_interface((module.nki_flavour or NkiFlavour.NKI).value)
    function, note = interface.functions.get(dotted), nki_note(dotted)
    for form in function.signatures if function is not None else ():
        parameters = tuple((p.name if p.is_required else f"{p.name}=", "") for p in form.parameters)
        active = _active(call, parameters)
        yield CallSignature(call.callee, parameters, active, note.does if note else "")


def _launch(kernel: Kernel, call: OpenCall, backend: str | None) -> CallSignature:
    """A kernel's parameters, and the options that the backend takes."""
    own = tuple(
        (f"{p.name}: constexpr" if p.is_constexpr else p.name, "") for p in kernel.parameters
    )
    names = {parameter.name for parameter in kernel.parameters}
    options = tuple(
        (f"{name}=", note.does)
        for name, note in launch_options().items()
        if name not in names and (backend is None or backend in note.backends)
    )
    shown = tuple(o for o in options if o[0][:-1] in ("num_warps", "num_stages", call.keyword))
    parameters = (*own, *shown)
    text = "Options of the compiler follow the kernel's own parameters."
    return CallSignature(kernel.name, parameters, _active(call, parameters), text)


def _active(call: OpenCall, parameters: tuple[tuple[str, str], ...]) -> int | None:
    names = [label.lstrip("*").split(":")[0].split("=")[0] for label, _ in parameters]
    if call.keyword is not None:
        return names.index(call.keyword) if call.keyword in names else None
    variadic = next((n for n, (label, _) in enumerate(parameters) if label.startswith("*")), None)
    if variadic is not None and call.position >= variadic:
        return variadic
    return call.position if call.position < len(parameters) else None
