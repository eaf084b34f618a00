"""The tools: for each its schemas, the engine's command, and the answer made of the result."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tilewright_server.mcp import arguments as given
from tilewright_server.mcp import shaping
from tilewright_server.mcp.answers import (
    Answer,
    CheckAnswer,
    CompileAnswer,
    EvidenceAnswer,
    ExplainAnswer,
    OptimizeAnswer,
    ProfileAnswer,
    VerifyAnswer,
)
from tilewright_server.mcp.engine import Command, Engine
from tilewright_server.mcp.pages import explained
from tilewright_server.mcp.progress import Progress
from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.roots import Place, Roots

_READ_LIMIT_S = 120.0
_MOST_KEPT = 64


@dataclass
class Certificates:
    """Certificates of the session's candidates, by the hash of the candidate; the oldest go."""

    _kept: OrderedDict[str, dict[str, Any]] = field(default_factory=OrderedDict)

    def keep(self, candidate: str | None, value: Mapping[str, Any]) -> None:
        """Remember the certificate in a result."""
        found = shaping.evidence_of(value)
        if candidate is None or found is None:
            return
        self._kept[candidate] = found
        self._kept.move_to_end(candidate)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def certificate_of(self, candidate: str) -> dict[str, Any]:
        """The certificate of a candidate.

        Raises:
            RefusedError: none of this session.
        """
        found = self._kept.get(candidate)
        if found is None:
            raise RefusedError(
                "no candidate of this session has this id; call verify again, or name a `path`"
            )
        return found


@dataclass(frozen=True)
class Call:
    """What a tool works with during one call."""

    engine: Engine
    roots: Roots
    progress: Progress
    certificates: Certificates
    device: str
    limit_s: float

    async def run(
        self,
        *words: str,
        place: Place,
        text: str | None,
        document: bool = False,
        limit_s: float | None = None,
    ) -> tuple[Mapping[str, Any], bool]:
        """A command's result, and whether it is the best so far of one that was stopped.

        A ``text`` is handed over on standard input, which the command is told to read.
        """
        limit = min(limit_s or self.limit_s, self.limit_s)
        if document:
            limit = min(limit, _READ_LIMIT_S)
        if text is not None:
            words += ("--stdin",)
        command = Command(words, place, text or "", document, not document, limit)
        finished = await self.engine.run(command, self.roots, self.progress)
        return finished.value, finished.stopped

    async def subject(self, path: str | None, text: str | None) -> Place:
        """The file that a tool imports, in a thread: a file system may take its time."""
        return await asyncio.to_thread(self._subject, path, text)

    def _subject(self, path: str | None, text: str | None) -> Place:
        place = self.roots.name(path) if text is not None else self.roots.file(path or "")
        self.roots.check_surroundings(place)
        return place

    async def sources(self, path: str | None, text: str | None) -> Place:
        """The file or folder that a tool reads and does not import."""
        find = self.roots.file_or_folder if text is None else self.roots.name
        return await asyncio.to_thread(find, path or "")

    async def options(self, wanted: given.Run) -> list[str]:
        """The options that all commands which run kernels have."""
        words = ["--device", wanted.device or self.device]
        if wanted.target is not None:
            words += ["--target", wanted.target]
        if wanted.problem is not None:
            place = await self.subject(wanted.problem, None)
            words += ["--problem", place.path]
        return words


async def _check(call: Call, wanted: given.Check) -> CheckAnswer:
    place = await call.sources(wanted.path, wanted.text)
    chip = ["--target", wanted.target] if wanted.target else []
    words = ("check", place.shown, *chip)
    value, _ = await call.run(*words, place=place, text=wanted.text, document=True)
    return shaping.check_answer(value)


async def _explain(call: Call, wanted: given.Explain) -> ExplainAnswer:
    del call
    return await asyncio.to_thread(explained, wanted.id)


async def _compile(call: Call, wanted: given.Compile) -> CompileAnswer:
    place = await call.subject(wanted.path, wanted.text)
    if "::" in place.shown:
        raise RefusedError("the path contains `::`, which separates a kernel's name; rename it")
    chips = [word for target in wanted.targets for word in ("--target", target)]
    value, _ = await call.run(
        "inspect", place.shown, *chips,
        place=place, text=wanted.text, limit_s=wanted.timeout_s,
    )  # fmt: skip
    return shaping.compile_answer(value)


async def _verify(call: Call, wanted: given.Verify) -> VerifyAnswer:
    original = await call.subject(wanted.original, None)
    words = ["verify", original.shown]
    if wanted.candidate is not None:
        words += [(await call.subject(wanted.candidate, None)).path]
    if wanted.require is not None:
        words += ["--require", wanted.require.value]
    value, _ = await call.run(
        *words, *await call.options(wanted),
        place=original, text=wanted.candidate_text, limit_s=wanted.timeout_s,
    )  # fmt: skip
    answer = shaping.verify_answer(value)
    call.certificates.keep(answer.evidence, value)
    return answer


async def _profile(call: Call, wanted: given.Profile) -> ProfileAnswer:
    place = await call.subject(wanted.path, wanted.text)
    counters = "--counters" if wanted.counters else "--no-counters"
    value, _ = await call.run(
        "profile", place.shown, counters, *await call.options(wanted),
        place=place, text=wanted.text, limit_s=wanted.timeout_s,
    )  # fmt: skip
    return shaping.profile_answer(value)


async def _optimize(call: Call, wanted: given.Optimize) -> OptimizeAnswer:
    place = await call.subject(wanted.path, wanted.text)
    budget = ("--budget", str(wanted.budget), "--model", "none")
    value, stopped = await call.run(
        "optimize", place.shown, *budget, *await call.options(wanted),
        place=place, text=wanted.text, limit_s=wanted.timeout_s,
    )  # fmt: skip
    answer = shaping.optimize_answer(value, stopped=stopped)
    call.certificates.keep(answer.evidence, value)
    return answer


async def _evidence(call: Call, wanted: given.Evidence) -> EvidenceAnswer:
    if wanted.candidate is not None:
        certificate = call.certificates.certificate_of(wanted.candidate)
        summary = certificate.get("summary") or f"level {certificate['level']}"
        return EvidenceAnswer(
            verdict=f"Candidate {wanted.candidate}: {summary}.", certificate=certificate
        )
    path = wanted.path or ""
    if wanted.repeat:
        return await _repeated(call, path, wanted)
    place = await call.sources(path, wanted.text)
    words = ("certificates", place.shown)
    value, _ = await call.run(*words, place=place, text=wanted.text, document=True)
    return shaping.certificates_answer(value)


async def _repeated(call: Call, path: str, wanted: given.Evidence) -> EvidenceAnswer:
    place = await call.subject(path, None)
    device = wanted.device or call.device
    value, _ = await call.run(
        "verify", "--recheck", place.path, "--device", device,
        place=place, text=wanted.text, limit_s=wanted.timeout_s,
    )  # fmt: skip
    return shaping.repeated_answer(value)


A = TypeVar("A", bound=given.Arguments)
R = TypeVar("R", bound=Answer)


@dataclass(frozen=True)
class Tool(Generic[A, R]):
    """A tool: ``call`` takes valid arguments and gives the answer, or raises RefusedError."""

    name: str
    title: str
    description: str
    arguments: type[A]
    answer: type[R]
    call: Callable[[Call, A], Awaitable[R]]


_TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        "check",
        "Find issues in kernels",
        "Report performance and correctness issues in the Triton or NKI kernels of a file, a "
        "folder or a text, from the source alone. Nothing is run; takes about a second.",
        given.Check,
        CheckAnswer,
        _check,
    ),
    Tool(
        "explain",
        "Explain an issue",
        "The page of an issue id (as `check` reports it) or of a pattern: why it matters, how to "
        "fix it, an example, measured gains. Without an id: the list of all issues.",
        given.Explain,
        ExplainAnswer,
        _explain,
    ),
    Tool(
        "compile",
        "Compile kernels for chips",
        "Cross-compile a file's kernels for chips that may be absent: registers, spills, "
        "shared memory, an estimated time, and what is wrong per line. No kernel is run.",
        given.Compile,
        CompileAnswer,
        _compile,
    ),
    Tool(
        "verify",
        "Verify a candidate",
        "Compare a changed file with the original: syntax, structure, compilation, correctness "
        "on many inputs, side effects and cheating, and speed where the device can time. Says "
        "accepted, refused with the step and the numbers, or not decided. Call it for every edit "
        "of a kernel before you keep it. Takes seconds to minutes.",
        given.Verify,
        VerifyAnswer,
        _verify,
    ),
    Tool(
        "profile",
        "Profile kernels",
        "Compile, check and time a file's kernels as they are, and report the bottleneck of each. "
        "Times need a GPU; without one the answer says that nothing was timed.",
        given.Profile,
        ProfileAnswer,
        _profile,
    ),
    Tool(
        "optimize",
        "Optimize kernels",
        "Apply Tilewright's own rewrites to a file's kernels, verify each, and return the diff of "
        "what was kept, with the trials and what was not verified. Writes no file and asks no "
        "language model. Minutes.",
        given.Optimize,
        OptimizeAnswer,
        _optimize,
    ),
    Tool(
        "evidence",
        "Show the evidence",
        "The certificate of a candidate of this session (by the id that verify and optimize "
        "return), or whether a file's kernels have certificates that hold for the current text. "
        "With `repeat`: run the checks of a certificate file again.",
        given.Evidence,
        EvidenceAnswer,
        _evidence,
    ),
)

TOOLS: Mapping[str, Tool[Any, Any]] = {tool.name: tool for tool in _TOOLS}
