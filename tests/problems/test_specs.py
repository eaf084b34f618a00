"""AI Bench specs as they are, ours beside them, and every way to get one wrong."""

import json
from pathlib import Path

import pytest

from tilewright.problems.dtypes import size_bytes
from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import Case, Entry, EntryKind, Input, Problem, ProblemError
from tilewright.serialize import dump, load

SPECS = Path(__file__).parent / "specs"
EXAMPLES = Path(__file__).parents[2] / "examples"


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _cases(problem: Problem) -> list[str]:
    return [case.name for cases in problem.cases.values() for case in cases]


def test_a_whole_ai_bench_spec() -> None:
    problem = load_problem(SPECS / "gather_rownorm.yaml")
    assert _cases(problem) == ["ci[0]", "bench-gpu[0]"]
    assert problem.default_category == "bench-gpu"
    assert problem.entry == Entry(EntryKind.MODEL, "Model")
    small, large = problem.check_cases()[0], problem.measured_cases()[0]
    assert small.inputs == (
        Input("TABLE", (64, 96), "float32"),
        Input("PICK", (8,), "int64", 0, 64),
        Input("WEIGHTS", (96,), "float32", transforms=("abs", "normalize")),
    )
    assert small.init_args == (96, 1e-5, 2)
    assert (small.rtol, small.atol) == (1e-2, 1e-5)
    assert small.flop is None
    assert large.inputs[0].dtype == "float16"
    assert large.flop == 5 * 8192 * 4096
    assert large.mem_bytes == 4 * 8192 * 4096 + 8 * 8192 + 4 * 4096
    assert (large.rtol, large.atol) == (5e-3, 1e-3)
    assert size_bytes(large) == 50000 * 4096 * 2 + 8192 * 8 + 4096 * 4


def test_text_that_spells_a_number_is_coerced_and_reported() -> None:
    problem = load_problem(SPECS / "gather_rownorm.yaml")
    coerced = [w for w in problem.warnings if "YAML reads 1e-5 as text" in w]
    assert len(coerced) == 1
    assert "gather_rownorm.yaml:23: dimension 'EPS'" in coerced[0]


def test_list_of_dims_scalars_and_list_valued_dims() -> None:
    problem = load_problem(SPECS / "bmm_bias.yaml")
    assert _cases(problem) == ["ci[0]", "bench-gpu[0]", "bench-gpu[1]"]
    small = problem.check_cases()[0]
    assert small.inputs[2] == Input("ACT", value="relu")
    assert small.inputs[3] == Input("STEPS", value=65)
    assert small.init_args == ((1, 33),)
    assert size_bytes(small) == 2 * (2 * 17 * 65 + 2 * 65 * 33)
    first, second = problem.measured_cases()
    assert first.flop == 2 * 32 * 512 * 512 * 1024 + 32 * 512 * 512
    assert second.mem_bytes == 2 * (8 * 2048 * 512 * 2 + 8 * 2048 * 2048) + 2 * 2048
    assert second.memory_format == "channels_last"


@pytest.mark.parametrize("name", ["gather_rownorm", "bmm_bias"])
def test_cases_survive_json(name: str) -> None:
    for cases in load_problem(SPECS / f"{name}.yaml").cases.values():
        for case in cases:
            again = load(Case, json.loads(json.dumps(dump(case))))
            assert again == case
            assert [type(v) for v in again.dims.values()] == [type(v) for v in case.dims.values()]


@pytest.mark.parametrize("name", ["matmul", "softmax", "linear_gelu", "layernorm"])
def test_the_examples_have_problems(name: str) -> None:
    problem = find_problem(EXAMPLES / f"{name}.py")
    assert problem is not None
    assert problem.warnings == ()
    assert problem.entry == Entry(EntryKind.FUNCTION, name)
    assert problem.check_cases()
    assert problem.measured_cases()
    assert max(size_bytes(case) for case in problem.check_cases()) < 1 << 20


BASE = """\
inputs:
  X: {shape: [N], dtype: inherit}
ci:
  - params: [X]
    dtype: float32
    dims: {N: 8}
"""

BAD = {
    "missing dimension in a shape": (
        BASE.replace("[N]", "[N, WIDTH]"),
        2,
        "'WIDTH' is not a dimension of this variant (it has: N)",
    ),
    "formula that is not arithmetic": (
        BASE + '    flop: "N if N else 0"\n',
        7,
        "'flop': 'N if N else 0' is not allowed",
    ),
    "formula with a missing dimension": (
        BASE + "    mem_bytes: 4*Q\n",
        7,
        "'Q' is not a dimension",
    ),
    "negative flop": (BASE + "    flop: N-10\n", 7, "comes to -2"),
    "missing params": (BASE.replace("params: [X]\n    ", ""), 4, "no 'params'"),
    "params of no input": (BASE.replace("[X]", "[X, Z]"), 4, "'params' names 'Z'"),
    "unknown transform": (
        BASE.replace("dtype: inherit", "dtype: inherit, inits: [sqrt]"),
        2,
        "unknown transform 'sqrt'; use one of scale, softmax",
    ),
    "transform of another rank": (
        BASE.replace("dtype: inherit", "dtype: inherit, inits: [triu]"),
        2,
        "'triu' needs a matrix",
    ),
    "unknown dtype": (BASE.replace("float32", "fp32"), 5, "unknown dtype 'fp32'; use one of bool"),
    "inherit without a dtype": (BASE.replace("    dtype: float32\n", ""), 2, "inherits its dtype"),
    "negative extent": (BASE.replace("{N: 8}", "{N: -8}"), 2, "cannot be negative"),
    "extent that is no whole number": (BASE.replace("{N: 8}", "{N: 8.5}"), 2, "whole number"),
    "extent that is a truth value": (BASE.replace("{N: 8}", "{N: true}"), 2, "whole number"),
    "dimension without a value": (BASE.replace("{N: 8}", "{N: }"), 6, "has no value"),
    "empty range": (
        BASE.replace("dtype: inherit", "dtype: int64, range: [4, 4]"),
        2,
        "4 is not below 4",
    ),
    "range with one bound": (
        BASE.replace("dtype: inherit", "dtype: int64, range: [4]"),
        2,
        "two bounds",
    ),
    "range without an end": (
        BASE.replace("dtype: inherit", "dtype: inherit, range: [0, .inf]"),
        2,
        "must be finite",
    ),
    "range beyond a dtype": (
        BASE.replace("dtype: inherit", "dtype: int8, range: [0, 1000]"),
        2,
        "goes beyond int8, which holds -128..127",
    ),
    "range below a dtype": (
        BASE.replace("dtype: inherit", "dtype: uint8, range: [-1, 5]"),
        2,
        "goes beyond uint8, which holds 0..255",
    ),
    "an input given twice": (BASE.replace("[X]", "[X, X]"), 4, "'params' names 'X' twice"),
    "a variant that is no list": (
        BASE.replace("  - params", "    params"),
        4,
        "'ci' must be a list of variants",
    ),
    "tolerance without an end": (BASE + f"    rtol: 1{'0' * 400}\n", 7, "'rtol' must be a number"),
    "no shape": (BASE.replace("shape: [N], ", ""), 2, "has no 'shape'"),
    "no inputs": ("ci: []\n", 1, "no 'inputs'"),
    "no variant": ("inputs: {}\nname: x\n", 1, "no variant"),
    "unknown default variant": (BASE + "default_variant: gpu\n", 7, "the spec has ci"),
    "constructor argument of no dimension": (
        BASE + "inits:\n  - dim: HIDDEN\n",
        8,
        "'HIDDEN', which is missing (there: N)",
    ),
    "constructor argument with two names": (BASE + "inits:\n  - {a: N, b: N}\n", 8, "one name"),
    "negative tolerance": (BASE + "    rtol: -1\n", 7, "not negative"),
    "tolerance that is a word": (BASE + "    rtol: tight\n", 7, "'rtol' must be a number"),
    "unknown memory format": (
        BASE + "    memory_format: nhwc\n",
        7,
        "unknown memory_format 'nhwc'",
    ),
    "key given twice": (BASE + "inputs: {}\n", 7, "'inputs' is given twice"),
    "not YAML": ("inputs: {X: [\n", 2, "this is not YAML"),
    "a list": ("- a\n- b\n", 1, "must be a mapping"),
    "empty": ("", 1, "the spec is empty"),
    "an object of Python": (
        BASE.replace("{N: 8}", "{N: !!python/object/apply:os.getcwd []}"),
        6,
        "must be a plain list; remove the tag",
    ),
    "a date": (BASE.replace("{N: 8}", "{N: 2026-01-01}"), 6, "neither a number nor a word"),
    "a merge of no mapping": (BASE + "<<: 3\n", 1, "the merge key '<<'"),
    "a mapping merged into itself": (
        BASE.replace("{N: 8}", "&a {N: 8, <<: *a}"),
        6,
        "'N' is given twice in 'dims'",
    ),
    "a list that holds itself": (BASE.replace("{N: 8}", "{N: &a [*a]}"), 6, "two lists deep"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_used_names_file_line_and_way_out(tmp_path: Path, what: str) -> None:
    text, line, said = BAD[what]
    path = _write(tmp_path, "k.yaml", text)
    with pytest.raises(ProblemError) as caught:
        load_problem(path)
    assert said in caught.value.message
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_unknown_keys_are_reported_and_left_out(tmp_path: Path) -> None:
    text = BASE.replace("dtype: inherit", "dtype: inherit, colour: red").replace(
        "    dims:", "    speed: high\n    dims:"
    )
    path = _write(tmp_path, "k.yaml", text + "owner: me\ntags: [a, b]\n")
    problem = load_problem(path)
    said = [w.removeprefix(f"{path}:").split(" is ignored")[0] for w in problem.warnings]
    assert said[:4] == [
        "2: unknown key 'colour' in input 'X'",
        "8: unknown key 'owner'",
        "9: unknown key 'tags'",
        "6: unknown key 'speed' in a variant of 'ci'",
    ]
    assert _cases(problem) == ["ci[0]"]


def test_merge_keys_and_anchors_work(tmp_path: Path) -> None:
    text = """\
inputs:
  X: {shape: [N], dtype: inherit}
ci:
  - &small
    params: [X]
    dtype: float32
    dims: {N: 8}
bench-gpu:
  - <<: *small
    dims: {N: 1024}
"""
    problem = load_problem(_write(tmp_path, "k.yaml", text))
    assert problem.check_cases()[0].inputs == (Input("X", (8,), "float32"),)
    assert problem.measured_cases()[0].inputs == (Input("X", (1024,), "float32"),)


def test_names_that_yaml_takes_for_truth_values(tmp_path: Path) -> None:
    text = BASE.replace("X", "ON").replace("N: 8", "NO: 8").replace("[N]", "[NO]")
    (case,) = load_problem(_write(tmp_path, "k.yaml", text + "inits: [NO, off]\n")).check_cases()
    assert case.inputs == (Input("ON", (8,), "float32"),)
    assert case.dims == {"NO": 8}
    assert case.init_args == (8, False)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("3", 3),
        ("1e-3", 1e-3),
        ("'3'", "3"),
        ("nan", "nan"),
        ("true", True),
        ("N", 8),
        ("'N'", "N"),
    ],
)
def test_plain_arguments(tmp_path: Path, written: str, value: object) -> None:
    text = BASE.replace("ci:", f"  S: {{value: {written}}}\nci:").replace("[X]", "[X, S]")
    (case,) = load_problem(_write(tmp_path, "k.yaml", text)).check_cases()
    assert case.inputs[1] == Input("S", value=value)  # type: ignore[arg-type]
    assert type(case.inputs[1].value) is type(value)


def test_an_unreadable_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="cannot be read"):
        load_problem(tmp_path / "none.yaml")
    binary = tmp_path / "k.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_problem(binary)
