"""What a call leaves in a model's buffers is a part of its result; a tuner's trials count."""

import pytest

torch = pytest.importorskip("torch")

from tilewright.worker.launches import hooks  # noqa: E402
from tilewright.worker.trials import run_faults, version  # noqa: E402

pytestmark = pytest.mark.triton


def test_weights_and_buffers_are_named_and_copied() -> None:
    model = torch.nn.BatchNorm1d(3)
    before = version.tensors_of(model)
    model.running_mean.add_(1.0)
    changed = version.changed_inputs(before, version.tensors_of(model, own=True))
    assert list(changed) == ["weight running_mean"]
    assert version.tensors_of(None) == {}


def test_a_weight_that_the_original_leaves_alone_is_a_fault() -> None:
    told = {"inputs_changed": ["x", "weight bias"]}
    found = list(run_faults.of_run({"inputs_changed": ["x"]}, told))
    assert found == ["it overwrites its weights bias, which the original leaves alone"]
    assert list(run_faults.of_run(told, told)) == []


class _Config:
    pre_hook = None

    def all_kwargs(self) -> dict[str, int]:
        return {"BLOCK": 16}


class _Kernel:
    """Adds one to its output at each launch."""

    def run(self, out: list[int], **_: int) -> None:
        out[0] += 1


class _Tuner:
    arg_names = ("out",)
    fn = _Kernel()

    def __init__(self, *, resets: bool) -> None:
        self._resets = resets

    def pre_hook(self, given: dict[str, list[int]], reset_only: bool = False) -> None:
        if self._resets:
            given["out"][0] = 0

    def post_hook(self, given: dict[str, list[int]], exception: object) -> None:
        assert exception is None


@pytest.mark.parametrize(("resets", "left"), [(True, 1), (False, 2)])
def test_a_trial_is_seen_unless_the_tuner_resets(resets: bool, left: int) -> None:
    tuner, config, out = _Tuner(resets=resets), _Config(), [0]
    hooks._tried(tuner, config, (out,), {})
    hooks.launch_config(tuner, config, (out,), {})
    assert out == [left]
