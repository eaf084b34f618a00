"""Detectors of faults: what gives wrong results, or does not compile or launch at all."""
