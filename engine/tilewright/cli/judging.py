"""One text judged against another on an open device, with the certificate that comes of it."""

from dataclasses import dataclass
from pathlib import Path

from tilewright.certificates.model import CertificateFile
from tilewright.cli.inputs import with_permissions
from tilewright.cli.output import StreamFormat, emit_event
from tilewright.devices.model import Device
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.certificate import certify
from tilewright.evaluation.certificate_file import certificate_file
from tilewright.evaluation.model import Certificate, Evaluation, StepName
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.model import Problem
from tilewright.scratch import scratch_folder
from tilewright.targets.model import Target

_PERCENT = {
    StepName.SYNTAX: 10,
    StepName.STRUCTURE: 12,
    StepName.COMPILE: 15,
    StepName.CORRECTNESS: 30,
    StepName.ESTIMATE: 85,
    StepName.SPEED: 90,
}


@dataclass(frozen=True)
class Judged:
    """``file`` is None where nothing was verified that is worth keeping."""

    evaluation: Evaluation
    certificate: Certificate
    file: CertificateFile | None


@dataclass(frozen=True)
class Subject:
    """What is judged.

    Attributes:
        path: the original's file, for its imports and for messages.
        source: the file that has, or is to have, the candidate's text.
        place: where the certificate lies; None: next to ``source``.
    """

    original: str
    candidate: str
    path: Path
    source: Path
    problem: Problem | None
    place: Path | None = None


def judge(
    subject: Subject,
    device: Device,
    target: Target | None,
    seed: int,
    form: StreamFormat = StreamFormat.TEXT,
) -> Judged:
    """Take the candidate through the cascade; as events, each step is announced."""

    def on_step(step: StepName) -> None:
        if form is StreamFormat.EVENTS:
            place = f"{step.value} ({device.info.name})"
            emit_event("progress", percent=_PERCENT[step], message=place)

    with scratch_folder() as scratch:
        problem = with_permissions(subject.problem, subject.path)
        bench = Workbench(device, problem, subject.path, scratch, seed) if problem else None
        cascade = Cascade(subject.original, str(subject.path), bench, target)
        evaluation = cascade.judge(subject.candidate, subject.original, on_step=on_step)
        certificate = certify(evaluation, bench, target)
    texts = (subject.original, subject.candidate)
    file = None
    if problem is not None and evaluation.error is None:
        file = certificate_file(
            certificate, texts, problem, device.info, subject.source, subject.place
        )
    return Judged(evaluation, certificate, file)
