"""Jobs and answers between the engine and the worker are typed."""

import ast
import re

from house_modules import SourceModule, all_modules

UNTYPED = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
JOBS = "tilewright.worker.jobs."
MESSAGES = "tilewright.worker.messages"
# Those of a runner: each of the coordinator's messages completes the job.
OPEN = {"run", "trial_runner"}


def annotations(module: SourceModule) -> list[tuple[int, str]]:
    """(line, annotation) of a module's parameters, results and variables."""
    found: list[ast.expr | None] = []
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
    return [(one.lineno, ast.unparse(one)) for one in found if one is not None]


def test_what_carries_jobs_names_their_types() -> None:
    wrong = [
        f"{module.place}:{line}: {text}"
        for module in all_modules()
        if module.area == "devices" or ".worker.runtime." in module.name
        for line, text in annotations(module)
        if UNTYPED.search(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_each_job_says_what_it_takes_and_what_it_answers() -> None:
    typed = {
        node.name
        for module in all_modules()
        if module.name.startswith(MESSAGES)
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    }
    jobs = {m.name.removeprefix(JOBS): m for m in all_modules() if m.name.startswith(JOBS)}
    for name in jobs.keys() - OPEN:
        (perform,) = (
            node
            for node in jobs[name].tree.body
            if isinstance(node, ast.FunctionDef) and node.name == "perform"
        )
        named = [perform.args.args[0].annotation, perform.returns]
        assert all(isinstance(one, ast.Name) and one.id in typed for one in named), name


def test_a_worker_imports_the_types_for_type_checkers_alone() -> None:
    """The interpreter it runs in may be older than their syntax."""
    wrong = [
        f"{module.place}:{found.line}"
        for module in all_modules()
        if module.area == "worker" and not module.name.startswith(MESSAGES)
        for found in module.imports
        if found.name.startswith(MESSAGES) and not found.lazy
    ]
    assert not wrong, "\n".join(wrong)
