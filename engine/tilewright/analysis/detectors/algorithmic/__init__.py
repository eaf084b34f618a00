"""Detectors of the algorithmic stage: work done more often, or less safely, than needed."""
