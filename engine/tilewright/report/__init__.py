"""Optimization results as one HTML file that needs nothing else to be read."""
