"""The ids of devices that run NKI kernels."""

NEURON_SIM = "neuron-sim"
"""The NKI simulator on this machine's CPU."""
NEURON = "neuron"
"""The Neuron SDK of the interpreter that runs kernels, where it can be imported."""


def is_neuron(device: str) -> bool:
    """Whether a device runs NKI kernels, and nothing else."""
    return device in (NEURON_SIM, NEURON)
