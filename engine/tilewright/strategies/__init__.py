"""What to try next, over one and the same evaluation."""
