"""Other weights for a model: none that a fresh layer has are left as they are."""

import pytest

torch = pytest.importorskip("torch")

from tilewright.worker.trials.weights import varied  # noqa: E402

pytestmark = pytest.mark.triton


def test_weights_that_are_all_alike_become_different_ones() -> None:
    fresh = {"weight": torch.ones(64), "bias": torch.zeros(64), "var": torch.ones(64)}
    made = varied(fresh, 7)
    for name, value in made.items():
        assert len(value.unique()) > 32, name
        assert bool((value - fresh[name]).abs().max() < 0.5), name
    assert bool((made["var"] > 0.5).all())
    assert not torch.equal(made["weight"], made["var"]), "each name has numbers of its own"


def test_zeros_of_a_mask_stay_zeros() -> None:
    mask = torch.tril(torch.ones(8, 8))
    assert torch.equal(varied({"mask": mask}, 7)["mask"] == 0, mask == 0)


def test_quantized_weights_change_places_and_counters_stay() -> None:
    packed = torch.arange(-32, 32, dtype=torch.int8).reshape(8, 8)
    made = varied({"packed": packed, "count": torch.tensor(3), "empty": torch.zeros(0)}, 7)
    assert not torch.equal(made["packed"], packed)
    assert torch.equal(made["packed"].reshape(-1).sort().values, packed.reshape(-1))
    assert int(made["count"]) == 3
    assert made["empty"].numel() == 0


def test_another_seed_gives_other_weights() -> None:
    fresh = {"bias": torch.zeros(16)}
    assert not torch.equal(varied(fresh, 1)["bias"], varied(fresh, 2)["bias"])
    assert torch.equal(varied(fresh, 1)["bias"], varied(fresh, 1)["bias"])
