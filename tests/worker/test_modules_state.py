"""Weights of one model given to another that has the same by other names."""

import pytest

torch = pytest.importorskip("torch")

from tilewright.worker.loading import entry_call  # noqa: E402
from tilewright.worker.protocol import JobError  # noqa: E402

pytestmark = pytest.mark.triton


class _Fused(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.add_value = torch.nn.Parameter(torch.zeros(3))
        self.matmul = torch.nn.Linear(2, 3)


def test_weights_in_another_order_find_their_places() -> None:
    state = {"weight": torch.ones(3, 2), "bias": torch.full((3,), 2.0)}
    state |= {"add_value": torch.full((3,), 4.0)}
    model = _Fused()
    entry_call.load_state(model, state)
    assert torch.equal(model.matmul.weight, torch.ones(3, 2))
    assert (model.matmul.bias[0].item(), model.add_value[0].item()) == (2.0, 4.0)


@pytest.mark.parametrize("name", ["other", "x.other"])
def test_where_there_is_a_choice_nothing_is_guessed(name: str) -> None:
    state = {"weight": torch.ones(3, 2), "bias": torch.ones(3), name: torch.ones(3)}
    with pytest.raises(JobError, match="do not match the original's"):
        entry_call.load_state(_Fused(), state)


def test_extents_of_one_are_no_other_shape() -> None:
    state = {"add_value": torch.full((3, 1, 1), 4.0), "matmul.weight": torch.ones(3, 2)}
    state |= {"matmul.bias": torch.full((3,), 2.0)}
    model = _Fused()
    entry_call.load_state(model, state)
    assert torch.equal(model.add_value, torch.full((3,), 4.0))
    with pytest.raises(JobError, match="do not match the original's"):
        entry_call.load_state(_Fused(), {**state, "add_value": torch.ones(3, 2)})
