"""Entry points, references, KernelBench modules and what is found beside a file."""

from pathlib import Path

import pytest

from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import Entry, EntryKind, ProblemError

SPEC = """\
inputs:
  X: {shape: [N], dtype: float32}
ci:
  - params: [X]
    dims: {N: 8}
"""
KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, BLOCK: tl.constexpr):
    pass

def scale(x):
    return x

def plain_scale(x):
    return x
"""
MODULE = """\
raise RuntimeError("this file must never be imported")

class Model:
    pass

def get_inputs():
    return []

def get_init_inputs():
    return []
"""


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)


def test_the_spec_beside_the_file_is_found(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL, k_yml=SPEC + "entry: scale\n")
    problem = find_problem(tmp_path / "k.py")
    assert problem is not None
    assert problem.entry == Entry(EntryKind.FUNCTION, "scale")
    assert problem.reference is None
    assert problem.warnings == ()


@pytest.mark.parametrize("folder", [".", "versions"])
def test_a_spec_names_its_files(tmp_path: Path, folder: str) -> None:
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    named = f"files: ['{'' if folder == '.' else 'vers*/'}k_[ab].py']\nentry: scale\n"
    (tmp_path / "shared.yaml").write_text(SPEC + named)
    (tmp_path / "other.yaml").write_text("files: [*broken")
    for name in ("k_a", "k_c"):
        (place / f"{name}.py").write_text(KERNEL)
    problem = find_problem(place / "k_a.py")
    assert problem is not None
    assert problem.entry == Entry(EntryKind.FUNCTION, "scale")
    assert problem.warnings == ()
    assert find_problem(place / "k_c.py") is None
    (place / "k_c.yaml").write_text(SPEC + "entry: scale\n")
    (tmp_path / "shared.yaml").write_text((SPEC + named).replace("k_[ab]", "k_*"))
    nearest = find_problem(place / "k_c.py")
    assert nearest is not None, "its own spec comes before one that names it"
    assert nearest.path == str(place / "k_c.yaml")


def test_nothing_beside_the_file(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL)
    assert find_problem(tmp_path / "k.py") is None
    assert find_problem(tmp_path / "absent.py") is None


def test_without_model_the_entry_must_be_named(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL, k_yaml=SPEC)
    with pytest.raises(ProblemError, match=r"add 'entry: NAME' with one of scale, plain_scale"):
        find_problem(tmp_path / "k.py")


def test_an_entry_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL, k_yaml=SPEC + "entry: scal\n")
    with pytest.raises(ProblemError) as caught:
        find_problem(tmp_path / "k.py")
    assert caught.value.line == 6
    assert "did you mean 'scale'?" in caught.value.message


def test_a_kernel_is_no_entry(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL, k_yaml=SPEC + "entry: scale_kernel\n")
    with pytest.raises(ProblemError, match="is a kernel; name the function that launches it"):
        find_problem(tmp_path / "k.py")


@pytest.mark.parametrize(
    ("text", "params", "said"),
    [
        ("def f(x, y):\n    return x\n", "X", "'params' lists 1, and 'f' takes 2 (x, y)"),
        ("def f(x, y=1):\n    return x\n", "X", ""),
        ("def f(x, *more):\n    return x\n", "X", ""),
        ("def f(*, x):\n    return x\n", "X", "'params' lists 1, and 'f' takes 0 ()"),
        ("@wrapped\ndef f(x, y):\n    return x\n", "X", ""),
        ("class f:\n    def forward(self, x):\n        return x\n", "X", ""),
        ("class f:\n    def forward(self):\n        return 1\n", "X", "and 'f' takes 0"),
        ("class f(Base):\n    pass\n", "X", ""),
    ],
)
def test_inputs_that_the_entry_cannot_be_called_with_are_told(
    tmp_path: Path, text: str, params: str, said: str
) -> None:
    spec = f"entry: f\ninputs:\n  X: {{shape: [4], dtype: float32}}\nci:\n  - params: [{params}]\n"
    _write(tmp_path, k_py=text, k_yaml=spec)
    if not said:
        assert find_problem(tmp_path / "k.py") is not None
        return
    with pytest.raises(ProblemError) as caught:
        find_problem(tmp_path / "k.py")
    assert said in caught.value.message
    assert caught.value.line == 5


def test_a_file_that_does_not_parse_leaves_the_entry_unchecked(tmp_path: Path) -> None:
    _write(tmp_path, k_py="def scale(:\n", k_yaml=SPEC + "entry: scale\n")
    problem = find_problem(tmp_path / "k.py")
    assert problem is not None
    assert problem.entry.name == "scale"
    assert "is not valid Python" in problem.warnings[0]


def test_the_spec_may_serve_a_file_elsewhere(tmp_path: Path) -> None:
    _write(tmp_path, k_yaml=SPEC + "entry: scale\n", other_py=KERNEL)
    assert load_problem(tmp_path / "k.yaml", tmp_path / "other.py").entry.name == "scale"


def test_reference_in_the_same_file(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL, k_yaml=SPEC + "entry: scale\nreference: plain_scale\n")
    problem = load_problem(tmp_path / "k.yaml")
    assert problem.reference == Entry(EntryKind.FUNCTION, "plain_scale")


def test_reference_in_another_file_is_part_of_the_identity(tmp_path: Path) -> None:
    spec = SPEC + "entry: scale\nreference: {file: ref.py, entry: slow}\n"
    _write(tmp_path, k_py=KERNEL, k_yaml=spec, ref_py="def slow(x):\n    return x\n")
    before = load_problem(tmp_path / "k.yaml")
    assert before.reference == Entry(EntryKind.FUNCTION, "slow", str(tmp_path / "ref.py"))
    _write(tmp_path, ref_py="def slow(x):\n    return 2 * x\n")
    assert load_problem(tmp_path / "k.yaml").content_hash != before.content_hash


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("{file: none.py}", "there is no reference file"),
        ("{file: ref.py}", "has no 'Model' (it has slow)"),
        ("{file: ref.py, entry: fast}", "has no 'fast' (it has slow)"),
        ("nothing", "has no 'nothing' to be the reference"),
        ("{}", "needs 'entry'"),
    ],
)
def test_a_reference_that_is_not_there(tmp_path: Path, reference: str, said: str) -> None:
    spec = SPEC + f"entry: scale\nreference: {reference}\n"
    _write(tmp_path, k_py=KERNEL, k_yaml=spec, ref_py="def slow(x):\n    return x\n")
    with pytest.raises(ProblemError) as caught:
        load_problem(tmp_path / "k.yaml")
    assert said in caught.value.message
    assert caught.value.line == 7


def test_kernelbench_module_is_read_and_not_imported(tmp_path: Path) -> None:
    _write(tmp_path, k_py=MODULE)
    problem = find_problem(tmp_path / "k.py")
    assert problem is not None
    assert problem.entry == Entry(EntryKind.MODEL, "Model", preferred="ModelNew")
    (case,) = problem.check_cases()
    assert problem.measured_cases() == (case,)
    assert case.inputs_from_module
    assert case.inputs == ()


def test_the_pytorch_file_beside_becomes_the_reference(tmp_path: Path) -> None:
    _write(tmp_path, k_py=MODULE, k_pytorch_py="class Model:\n    pass\n")
    problem = find_problem(tmp_path / "k.py")
    assert problem is not None
    assert problem.reference == Entry(EntryKind.MODEL, "Model", str(tmp_path / "k_pytorch.py"))


def test_a_module_that_is_not_kernelbench(tmp_path: Path) -> None:
    _write(tmp_path, k_py=KERNEL)
    with pytest.raises(ProblemError, match="no KernelBench module"):
        load_problem(tmp_path / "k.py")


LAUNCHING = """\
import triton

@triton.jit
def double_kernel(x_ptr, n):
    pass

def _launch(x, out):
    double_kernel[(1,)](x, 4)
    return out

def double(x):
    return _launch(x, x)

def unrelated(x):
    return x
"""


def test_the_one_function_that_launches_is_the_entry(tmp_path: Path) -> None:
    _write(tmp_path, k_py=LAUNCHING, k_yaml=SPEC)
    problem = find_problem(tmp_path / "k.py")
    assert problem is not None
    assert problem.entry == Entry(EntryKind.FUNCTION, "double")
    assert "'entry: double'" in problem.warnings[0]


def test_of_several_functions_that_launch_the_spec_has_to_name_one(tmp_path: Path) -> None:
    other = LAUNCHING + "\ndef twice(x):\n    return _launch(x, x)\n"
    _write(tmp_path, k_py=other, k_yaml=SPEC)
    with pytest.raises(ProblemError, match="add 'entry: double' or 'entry: twice'") as caught:
        find_problem(tmp_path / "k.py")
    assert (caught.value.line, caught.value.column) == (1, 0)


def test_constructor_arguments_are_counted(tmp_path: Path) -> None:
    model = "class Model:\n    def __init__(self, width):\n        pass\n"
    spec = SPEC + "inits:\n  - dim: N\n  - dim: N\n"
    _write(tmp_path, k_py=model, k_yaml=spec, f_py=LAUNCHING, f_yaml=spec)
    with pytest.raises(ProblemError, match=r"lists 2, .* takes \(width\)") as caught:
        find_problem(tmp_path / "k.py")
    assert (caught.value.line, caught.value.column) == (7, 2)
    problem = find_problem(tmp_path / "f.py")
    assert problem is not None
    assert any("is a function and gets none" in note for note in problem.warnings)


@pytest.mark.parametrize("text", ["services:\n  web: {image: a}\n", "a: 1\n---\nb: 2\n", "[1]\n"])
def test_yaml_of_something_else_is_no_spec(tmp_path: Path, text: str) -> None:
    _write(tmp_path, k_py=KERNEL, k_yaml=text)
    assert find_problem(tmp_path / "k.py") is None
    with pytest.raises(ProblemError):
        load_problem(tmp_path / "k.yaml")


def test_ai_benchs_trees_belong_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIBENCH_KERNELS_DIR", raising=False)
    where = Path("KernelBench/level1/1_Double.py")
    spec = tmp_path / "problems/specs" / where.with_suffix(".yaml")
    kernel = tmp_path / "backends/triton" / where
    reference = tmp_path / "third_party/KernelBench" / where
    for path, text in ((spec, SPEC), (kernel, MODULE), (reference, MODULE)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    problem = find_problem(kernel)
    assert problem is not None
    assert problem.path == str(spec)
    assert problem.reference == Entry(EntryKind.MODEL, "Model", str(reference))
    itself = find_problem(reference)
    assert itself is not None
    assert (itself.path, itself.reference) == (str(spec), None)
