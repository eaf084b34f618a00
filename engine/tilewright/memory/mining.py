"""A good kernel on a device, rewound site by site: what ``tilewright memory mine`` does."""

from collections.abc import Collection, Iterator
from pathlib import Path

from tilewright.analysis.model import AnalysisContext
from tilewright.errors import InputError
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Evaluation
from tilewright.evaluation.workbench import Workbench
from tilewright.memory.model import Origin, Provenance
from tilewright.memory.projects import path_in_project, project_of
from tilewright.memory.rewinds import Rewinding, Site, rewound, sites
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts, Target


class GoodKernel:
    """A file whose kernels are taken for good, on the device that is to judge its rewinds.

    Args:
        text: the file's text; it has to parse.
        target: the device's own chip.
    """

    def __init__(self, text: str, path: Path, bench: Workbench, target: Target | None) -> None:
        self.cascade = Cascade(text, str(path), bench, target)
        self._module = parse_module(text, str(path))
        self._context = AnalysisContext(target, self.cascade.triton_version)
        self._bench = bench
        root = project_of(path)
        self._source = Provenance(str(root), path_in_project(root, path), "", "", Origin.MINED)

    def sites(self) -> list[Site]:
        """Where an issue can be put in, the first site of every rewind first."""
        return sites(self._module, self._context)

    def rewound(
        self, budget: int, created: str, left_out: Collection[str] = ()
    ) -> Iterator[Rewinding]:
        """Judge at most ``budget`` sites, each alone in the good text.

        Args:
            left_out: issues that are not put in.

        Raises:
            InputError: the good text does not run on its problem.
        """
        chosen = [one for one in self.sites() if one.rewind.issue not in left_out][:budget]
        if not chosen:
            return
        context = AnalysisContext(
            self._context.target, self._context.triton_version, self._launches()
        )
        yield from rewound(self._module, context, chosen, self.judge, self._source, created)

    def judge(self, text: str) -> Evaluation:
        """The evaluation of a text with its speed against the good one."""
        return self.cascade.judge(text, self.cascade.original, thorough=False)

    def _launches(self) -> tuple[LaunchFacts, ...]:
        found: list[LaunchFacts] = []
        for case in self._bench.problem.compiled_cases():
            capture = self._bench.capture(self.cascade.original, case)
            if capture.failure:
                raise InputError(
                    f"the kernel does not run on {self._bench.problem.path}: {capture.failure}; "
                    "only kernels that run can be rewound",
                    self.cascade.path,
                )
            found += capture.launches
        return tuple(found)
