"""What a person may set, from ``initializationOptions`` and the client's configuration."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tilewright.targets.model import Target

DEFAULT_TARGETS = ("xpu:bmg-g31", "cuda:90", "hip:gfx942")
DEFAULT_TARGET = "cuda:90"


def split_target(text: str) -> Target:
    """``backend:arch`` as a ``Target``; whether a compiler knows it is the engine's to say."""
    backend, colon, arch = text.partition(":")
    if not (backend and colon and arch):
        raise ValueError(f"{text!r} is not a target; write backend:arch, such as cuda:90")
    return Target(backend, arch)


def _is_target(text: str) -> str:
    split_target(text)
    return text


TargetText = Annotated[str, AfterValidator(_is_target)]


class CompileRun(StrEnum):
    """When an open file's kernels are compiled. Not while typing: compiling imports the module."""

    OPEN_AND_SAVE = "onOpenAndSave"
    SAVE = "onSave"
    OFF = "off"


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


class CompiledSettings(_Section):
    """What is compiled in the background, and when.

    Attributes:
        targets: chips to compile for; where there are none, what a profile would be for.
    """

    run: CompileRun = CompileRun.OPEN_AND_SAVE
    targets: tuple[TargetText, ...] = ()


class Asking(StrEnum):
    """When the user is asked before models are used: at any endpoint, or only at remote ones."""

    REMOTE = "remote"
    ALWAYS = "always"


def _is_model(name: str) -> str:
    if not re.fullmatch(r"[^\s,-][^\s,]*", name):
        raise ValueError(
            f"{name!r} is not the name of a model: no comma, no blank, no leading dash"
        )
    return name


def _is_endpoint(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"{url!r} is not an endpoint; write a URL such as http://localhost:8000/v1"
        )
    if parts.username or parts.password:
        raise ValueError("a key does not belong into settings; see the command Set Model Key")
    return url


class ModelSettings(_Section):
    """The language models that an optimization asks, and what it may spend on them.

    Attributes:
        names: none is no model.
        base_url: the endpoint; else OPENAI_BASE_URL, else that of OpenAI.
        tries: the most tries for each stage.
    """

    names: tuple[Annotated[str, AfterValidator(_is_model)], ...] = ()
    base_url: Annotated[str, AfterValidator(_is_endpoint)] | None = None
    max_dollars: float | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=1)
    max_minutes: float | None = Field(default=None, gt=0)
    tries: int | None = Field(default=None, ge=1)
    ask: Asking = Asking.REMOTE


class Settings(_Section):
    """Every setting with its default. Unknown ones are ignored: the client has some of its own.

    Attributes:
        targets: what "Optimize for" offers.
        target: what analysis and on-save profiling assume of files that name no device.
        file_targets: chips that a person chose for single documents, by URI.
        device: where the engine runs kernels: "auto", "interpreter", "cuda:0".
        python: the interpreter with torch and triton; the server's own if None.
        budget: trials of an optimization; the engine's default if None.
        trusted: False in a workspace whose code must not run: then only source is read.
        diagnostics_in_hover: whether the editor itself shows diagnostics' messages when hovering.
        inlay_hints: whether there are hints in the text at all.
        inlay_shapes: whether shapes and types stand behind the names that a kernel assigns.
        inlay_bytes: whether the bytes of tiles and accesses stand behind loads and stores.
        inlay_spills: whether spills stand behind lines of a compiled kernel.
        semantic_tokens: whether names in kernels are sent as constexpr, pointer, tile or mask.
        compiled: what is compiled in the background.
        models: the language models of an optimization.
        model_dialog: whether the client answers ``tilewright/modelConsent`` by a dialog.
        assembly_view: whether the client has the command ``tilewright.showAssembly``.
        diff_view: whether the client shows two texts of ``tilewright/showDiff`` side by side.
        verify_fixes: whether what a quick fix did is verified in the background.
        docs_url: where a rule's page is found, with the rule's id appended; None for the pages in
            Tilewright's home.
    """

    targets: tuple[TargetText, ...] = DEFAULT_TARGETS
    target: TargetText | None = None
    file_targets: Mapping[str, TargetText] = {}
    profile_on_save: bool = True
    device: str = "auto"
    python: str | None = None
    budget: int | None = Field(default=None, ge=1)
    trusted: bool = True
    diagnostics_in_hover: bool = False
    inlay_hints: bool = True
    inlay_shapes: bool = True
    inlay_bytes: bool = True
    inlay_spills: bool = True
    semantic_tokens: bool = True
    compiled: CompiledSettings = CompiledSettings()
    models: ModelSettings = ModelSettings()
    model_dialog: bool = False
    assembly_view: bool = False
    diff_view: bool = False
    verify_fixes: bool = True
    docs_url: str | None = None

    def page_of(self, issue_id: str) -> str | None:
        """Where an issue's page is found, if there are pages."""
        if not self.docs_url:
            return None
        ending = ".md" if self.docs_url.startswith("file:") else ""
        return f"{self.docs_url.rstrip('/')}/{issue_id}{ending}"

    @property
    def default_target(self) -> str:
        """The default target."""
        return self.target or (
            DEFAULT_TARGET if DEFAULT_TARGET in self.targets else self.targets[0]
        )


def _set(layer: Mapping[str, Any]) -> dict[str, Any]:
    """What a layer sets, without the empty values; sections inside it likewise."""
    inner = {k: _set(v) if isinstance(v, Mapping) else v for k, v in layer.items()}
    return {k: v for k, v in inner.items() if v not in (None, "", [], {})}


def read_settings(*layers: Any) -> tuple[Settings, tuple[str, ...]]:
    """Settings from layers, later ones winning, and a message for each value that was ignored.

    Empty texts and lists are what editors send for a setting that is not set.
    """
    values: dict[str, Any] = {}
    for layer in layers:
        if isinstance(layer, Mapping):
            values.update(_set(layer))
    try:
        return Settings.model_validate(values), ()
    except ValidationError as error:
        wrong = {detail["loc"]: detail["msg"] for detail in error.errors()}
    sections = {str(place[0]) for place in wrong}
    good = {key: value for key, value in values.items() if key not in sections}
    problems = tuple(
        f"Setting tilewright.{'.'.join(map(str, place))}: {message}. "
        f"The default of tilewright.{place[0]} is used."
        for place, message in wrong.items()
    )
    return Settings.model_validate(good), problems
