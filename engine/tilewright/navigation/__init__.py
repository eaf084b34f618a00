"""Where kernels and their parameters are named, outlines, and calls; pure, for editors."""
