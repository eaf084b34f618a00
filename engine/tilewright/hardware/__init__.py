"""Chips, their figures with sources, and configurations worth trying on them."""

from tilewright.hardware.chips import all_chips, chip, neuron_chip, neuron_chips
from tilewright.hardware.configs import (
    accumulator_bytes_per_warp,
    dot_configs,
    fits,
    next_power_of_two,
    row_configs,
    staging_bytes,
    stored_bytes,
)
from tilewright.hardware.model import (
    Chip,
    DotConfig,
    HardwareError,
    Menu,
    Rates,
    Residency,
    RowConfig,
)
from tilewright.hardware.neuron import NeuronChip

__all__ = [
    "Chip",
    "DotConfig",
    "HardwareError",
    "Menu",
    "NeuronChip",
    "Rates",
    "Residency",
    "RowConfig",
    "accumulator_bytes_per_warp",
    "all_chips",
    "chip",
    "dot_configs",
    "fits",
    "neuron_chip",
    "neuron_chips",
    "next_power_of_two",
    "row_configs",
    "staging_bytes",
    "stored_bytes",
]
