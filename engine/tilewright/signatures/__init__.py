"""What to compile a kernel with: from a spec, from captured launches, or inferred and said so."""
