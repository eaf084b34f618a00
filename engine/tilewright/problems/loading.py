"""From a path to a Problem: specs, KernelBench modules, and the files they name."""

import difflib
import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.problems import nkibench
from tilewright.problems.facts import sentences
from tilewright.problems.model import (
    Entry,
    EntryKind,
    NoSpecError,
    Problem,
    ProblemError,
    PytestFile,
    Ragged,
)
from tilewright.problems.modules import (
    SMALL,
    TASK,
    module_sizes,
    task_of,
    task_settings,
    task_sizes,
)
from tilewright.problems.nodes import SpecNode, read_text, read_yaml
from tilewright.problems.pyfile import PythonFile, is_kernelbench, python_file, read_python
from tilewright.problems.pytest_file import named_in
from tilewright.problems.spec import Spec, parse_spec, target_of
from tilewright.problems.spec_files import references_of, specs_of
from tilewright.problems.splits import splits_of
from tilewright.problems.tests_below import parts_of

MODELS = ("Model", "ModelNew")
TASK_FUNCTION = "forward_fn"
REFERENCE_KEYS = frozenset({"file", "entry"})


@dataclass(frozen=True)
class _Reference:
    """A reference and the text it stands in, which belongs to the problem's identity."""

    entry: Entry | None = None
    text: str = ""
    warnings: tuple[str, ...] = ()


def find_problem(source_path: str | Path) -> Problem | None:
    """The problem that belongs to a source file; None if there is none.

    A spec of the same stem next to it comes first, then one whose ``files`` name it, then the one
    that AI Bench has for it, then a KernelBench module in the file itself. YAML that is no spec
    belongs to something else.
    Raises ProblemError for a spec that is there and cannot be used.
    """
    source = Path(source_path)
    for spec in specs_of(source):
        with suppress(NoSpecError):
            return load_problem(spec, source)
    if not source.is_file():
        return None
    if is_kernelbench(source):
        return load_problem(source)
    task = task_of(source)
    if task is not None and _is_of_task(source):
        return load_problem(task, source)
    reference = nkibench.reference_of(source)
    if reference is not None:
        return load_problem(reference, source)
    return _tests_problem(source)


def problem_or_flaw(source: Path) -> tuple[Problem | None, ProblemError | None]:
    """A source file's problem, or why its spec cannot be used: reading goes on without it."""
    try:
        return find_problem(source), None
    except ProblemError as flaw:
        return None, flaw


def load_problem(path: str | Path, source: str | Path | None = None) -> Problem:
    """Read a spec (YAML), a KernelBench module or a reference of NKIBench (.py).

    Args:
        path: the spec or module, or a folder of NKIBench that lists ``source``.
        source: the file under test; for a spec, by default the ``.py`` of the same stem next to it.

    Raises ProblemError with file, line and the way out.
    """
    where = Path(path)
    if where.is_dir():
        where = nkibench.named_reference(where, None if source is None else Path(source)) or (
            where / TASK
        )
    if where.suffix == ".py" and nkibench.is_reference(read_python(where)):
        text = read_python(where).text
        return nkibench.problem(where, where if source is None else Path(source), _hash(text))
    if where.suffix == ".py":
        made = _tests_problem(where) if source is None or Path(source) == where else None
        if made is not None and not is_kernelbench(where):
            return made
        return _module_problem(where, where if source is None else Path(source))
    text, file = read_text(where), _source_file(where, source)
    root = read_yaml(text, str(where))
    tests = named_in(root)
    if tests is not None and "inputs" not in root.fields("the spec"):
        return _pytest_problem(root, tests, text, file)
    spec = parse_spec(text, str(where))
    entry, notes = _entry(spec, file)
    _check_arity(spec, entry, file)
    notes = (*notes, *_check_constructor(spec, entry, file))
    reference = _reference(spec, entry, where, file)
    return Problem(
        path=str(where),
        content_hash=_hash(spec.text, reference.text, *([tests.text] if tests else ())),
        entry=entry,
        reference=reference.entry,
        cases=spec.cases,
        default_category=spec.default_category,
        warnings=(*spec.warnings, *notes, *reference.warnings),
        ragged=_ragged(spec, text, entry, file),
        target=spec.target,
        interpreted=spec.interpreted,
        facts=sentences(spec.cases),
        pytest=tests,
    )


def _pytest_problem(
    root: SpecNode, tests: PytestFile, text: str, file: PythonFile | None
) -> Problem:
    """The problem that the calls of tests state; they are known once these have run."""
    fields = root.fields("the spec")
    unknown = next((key for key in fields if key not in ("problem", "target", "name")), None)
    if unknown is not None:
        fields[unknown].fail(
            f"'{unknown}' has no effect if the tests give the calls; remove it, or add "
            "'inputs' and variants, and the tests are an additional condition"
        )
    hosts = (file.launching or file.functions) if file is not None else ()
    return Problem(
        path=root.path,
        content_hash=_hash(text, tests.text),
        entry=Entry(EntryKind.FUNCTION, hosts[0] if hosts else "tests"),
        reference=None,
        cases={},
        default_category=SMALL,
        target=target_of(fields.get("target")),
        pytest=tests,
    )


def _tests_problem(path: Path) -> Problem | None:
    """The problem that tests below a kernel's code state; None where nothing above is launched."""
    parts = parts_of(read_python(path).text)
    file = python_file(path, parts.above) if parts is not None else None
    if parts is None or file is None or not file.jitted:
        return None
    hosts = file.launching or file.functions
    return Problem(
        path=str(path),
        content_hash=_hash(parts.below),
        entry=Entry(EntryKind.FUNCTION, hosts[0] if hosts else "tests"),
        reference=None,
        cases={},
        default_category=SMALL,
        has_tests=True,
    )


def _is_of_task(source: Path) -> bool:
    """Whether a file among a task's is a version of it: a model, or the function that it calls."""
    file = read_python(source)
    return source.name == TASK or any(name in file.callables for name in (*MODELS, TASK_FUNCTION))


def _module_problem(path: Path, source: Path) -> Problem:
    """The problem of a module that makes its own inputs, for a file under test."""
    module, file = read_python(path), read_python(source)
    if not module.parses:
        raise ProblemError("the module is not Python, so its inputs cannot be found", str(path))
    task = task_of(path) if path.name == TASK else None
    if task is None and not module.is_kernelbench:
        raise ProblemError(
            "this is no KernelBench module: it needs Model, get_inputs and get_init_inputs; "
            "or put a spec with the same stem next to it",
            str(path),
        )
    entry = Entry(EntryKind.MODEL, "Model")
    if "ModelNew" in (*file.classes, *module.classes) or task is None:
        entry = replace(entry, preferred="ModelNew")
    _require_entry(file, entry, task, source)
    settings = task_settings(task) if task is not None else ""
    sizes = task_sizes(task, settings) if task is not None else module_sizes(module, "Model")
    reference = _module_reference(path, source, module, file)
    return Problem(
        path=str(path),
        content_hash=_hash(module.text, settings, reference.text),
        entry=entry,
        reference=reference.entry,
        cases={SMALL: sizes[0].cases},
        default_category=SMALL,
        warnings=reference.warnings,
        sizes=sizes,
        task=module.text if task is not None else None,
    )


def _require_entry(file: PythonFile, entry: Entry, task: Path | None, source: Path) -> None:
    """Fail where the file under test has nothing that the problem could call."""
    names = [entry.name, entry.preferred, TASK_FUNCTION if task is not None else None]
    wanted = [name for name in names if name is not None]
    if file.parses and not any(name in file.callables for name in wanted):
        found = ", ".join(file.callables) or "no function at all"
        raise ProblemError(
            f"it defines none of {', '.join(wanted)}, so the problem has nothing to call "
            f"(it has {found}); define one of them",
            str(source),
        )


def _module_reference(path: Path, source: Path, module: PythonFile, file: PythonFile) -> _Reference:
    """The module's own Model, where something else is under test or where it is torch alone."""
    beside = _neighbouring_reference(source, path, Entry(EntryKind.MODEL, "Model"))
    if beside.entry is not None:
        return beside
    is_under_test = path.resolve() == source.resolve() and "ModelNew" not in file.classes
    if is_under_test and module.jitted:
        return beside
    return _Reference(Entry(EntryKind.MODEL, "Model", str(path)), "", beside.warnings)


def _ragged(spec: Spec, text: str, entry: Entry, file: PythonFile | None) -> Ragged | None:
    """Extents that fit no tile, as far as the entry point does not divide them."""
    splits = splits_of(file.tree, entry.name) if file is not None and file.tree else ()
    return parse_spec(text, spec.root.path, splits).ragged if splits else spec.ragged


def _source_file(spec: Path, source: str | Path | None) -> PythonFile | None:
    path = spec.with_suffix(".py") if source is None else Path(source)
    return read_python(path) if path.is_file() else None


def _entry(spec: Spec, file: PythonFile | None) -> tuple[Entry, tuple[str, ...]]:
    """The entry point in the file under test, and what could not be checked."""
    if file is None:
        return _unchecked(spec, "no file under test is known")
    if not file.parses:
        return _unchecked(spec, f"{file.path} is not valid Python")
    if spec.entry is None:
        return _inferred(spec, file)
    name = spec.entry.word("'entry'")
    entry = file.entry(name, None)
    if entry is not None:
        return entry, ()
    found = ", ".join(file.callables) or "no function at all"
    if name in file.jitted:
        spec.entry.fail(
            f"'{name}' of {file.path} is a kernel; name the function that launches it (it has "
            f"{found})"
        )
    close = difflib.get_close_matches(name, file.callables, 1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    spec.entry.fail(f"{file.path} has no '{name}' (it has {found}){hint}")


def _inferred(spec: Spec, file: PythonFile) -> tuple[Entry, tuple[str, ...]]:
    """The entry point of a spec that names none: a model, else the one function it can be."""
    for name in MODELS:
        entry = file.entry(name, None)
        if entry is not None:
            return entry, ()
    counts = {len(list(node.elements("'params'"))) for node in spec.params}
    fitting = [
        name
        for name in file.launching or file.nki_kernels
        if name not in file.arities or all(map(file.arities[name].takes, counts))
    ]
    if len(fitting) == 1:
        name = fitting[0]
        does = "is a kernel" if name in file.nki_kernels else "launches kernels"
        note = (
            f"entry '{name}': the one function of {file.path} that {does} and takes "
            f"these inputs; 'entry: {name}' would say so"
        )
        return Entry(EntryKind.FUNCTION, name), (spec.root.note(note),)
    if fitting:
        lines = " or ".join(f"'entry: {name}'" for name in fitting)
        spec.root.fail(
            f"{file.path} has no class Model and several functions that launch kernels and take "
            f"these inputs; add {lines}"
        )
    found = ", ".join(file.callables) or "no function at all"
    spec.root.fail(
        f"{file.path} has no class Model, so the spec must name the function to call: "
        f"add 'entry: NAME' with one of {found}"
    )


def _check_constructor(spec: Spec, entry: Entry, file: PythonFile | None) -> tuple[str, ...]:
    """Fail at constructor arguments that a model cannot be built with; note those that a function
    has no use for."""
    if spec.inits is None:
        return ()
    if entry.kind is EntryKind.FUNCTION:
        return (
            spec.inits.note(
                f"'inits' are a model's constructor arguments; '{entry.name}' is a function and "
                "gets none (a plain number is an input: 'NAME: {value: DIM}')"
            ),
        )
    arity = file.constructors.get(entry.name) if file is not None else None
    count = len(list(spec.inits.elements("'inits'")))
    if arity is not None and not arity.takes(count):
        spec.inits.fail(
            f"'inits' lists {count}, and the constructor of '{entry.name}' in "
            f"{file.path if file else '?'} takes ({', '.join(arity.names)})"
        )
    return ()


def _check_arity(spec: Spec, entry: Entry, file: PythonFile | None) -> None:
    """Fail at a list of inputs that the entry point cannot be called with."""
    arity = file.arities.get(entry.name) if file is not None else None
    for node in spec.params if arity is not None else ():
        count = len(list(node.elements("'params'")))
        if arity is not None and not arity.takes(count):
            fewest = f"at least {arity.least}" if arity.most is None else f"{arity.least}"
            most = f" to {arity.most}" if arity.most not in (None, arity.least) else ""
            node.fail(
                f"'params' lists {count}, and '{entry.name}' takes {fewest}{most} "
                f"({', '.join(arity.names)})"
            )


def _unchecked(spec: Spec, why: str) -> tuple[Entry, tuple[str, ...]]:
    if spec.entry is None:
        entry = Entry(EntryKind.MODEL, "Model")
    else:
        name = spec.entry.word("'entry'")
        kind = EntryKind.MODEL if name == "Model" else EntryKind.FUNCTION
        entry = Entry(kind, name)
    return entry, (spec.root.note(f"entry '{entry.name}' was not looked up: {why}"),)


def _reference(spec: Spec, entry: Entry, where: Path, file: PythonFile | None) -> _Reference:
    node = spec.reference
    if node is None:
        return _neighbouring_reference(Path(file.path) if file else where, where, entry)
    if not node.is_mapping:
        return _named_reference(node, file)
    fields = node.fields("'reference'")
    unknown = tuple(
        value.note(f"unknown key '{key}' in 'reference' is ignored; known: entry, file")
        for key, value in fields.items()
        if key not in REFERENCE_KEYS
    )
    if "file" not in fields:
        if "entry" not in fields:
            node.fail("'reference' needs 'entry' (a name) and may have 'file' (a path)")
        named = _named_reference(fields["entry"], file)
        return _Reference(named.entry, named.text, (*unknown, *named.warnings))
    return _file_reference(fields, where, unknown)


def _named_reference(node: SpecNode, file: PythonFile | None) -> _Reference:
    """A reference inside the file under test. Its text is the candidate's, so it is not hashed."""
    name = node.word("'reference'")
    if file is None or not file.parses:
        note = node.note(f"reference '{name}' was not looked up: no readable file under test")
        return _Reference(Entry(EntryKind.FUNCTION, name), warnings=(note,))
    entry = file.entry(name, None)
    if entry is None:
        found = ", ".join(file.callables) or "no function at all"
        node.fail(f"{file.path} has no '{name}' to be the reference (it has {found})")
    return _Reference(entry)


def _file_reference(
    fields: dict[str, SpecNode], where: Path, warnings: tuple[str, ...]
) -> _Reference:
    at = fields["file"]
    path = where.parent / at.word("'file' of 'reference'")
    if not path.is_file():
        at.fail(f"there is no reference file {path}; the path is relative to the spec")
    file = read_python(path)
    if not file.parses:
        at.fail(f"the reference file {path} is not Python")
    named = fields.get("entry")
    name = "Model" if named is None else named.word("'entry' of 'reference'")
    entry = file.entry(name, str(path))
    if entry is None:
        found = ", ".join(file.callables) or "no function at all"
        (named or at).fail(f"{path} has no '{name}' (it has {found}); name it under 'entry'")
    return _Reference(entry, file.text, warnings)


def _neighbouring_reference(source: Path, spec: Path, entry: Entry) -> _Reference:
    """The nearest independent implementation, if there is one."""
    for beside in references_of(source, spec):
        file = read_python(beside)
        found = file.entry("Model", str(beside)) or file.entry(entry.name, str(beside))
        if found is None:
            note = f"{beside}: neither Model nor {entry.name} is here; it is no reference"
            return _Reference(warnings=(note,))
        return _Reference(found, file.text)
    return _Reference()


def _hash(*texts: str) -> str:
    """32 hex digits over the texts, each with its length, so that no two splits agree."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode()
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:32]
