"""Chips, their figures with sources, and configurations worth trying on them."""
