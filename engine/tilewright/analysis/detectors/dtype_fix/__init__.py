"""Detectors of the dtype stage: types wider, or narrower, than the data needs."""
