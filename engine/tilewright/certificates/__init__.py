"""Certificate files: what was verified of a kernel, and whether that is still valid."""
