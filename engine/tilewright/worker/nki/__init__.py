"""A functional simulator of NKI kernels on numpy: values, limits of the chip, order of loops."""
