"""NKI kernels in a runner: on the simulator of this package, or on the Neuron SDK."""
