"""Import of a file under test, or of its kernels alone where the rest of it cannot be imported."""
