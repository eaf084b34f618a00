"""Where things run: Triton's interpreter and GPUs, here or over ssh, behind one protocol."""
