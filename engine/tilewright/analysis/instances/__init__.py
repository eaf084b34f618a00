"""Launches at chosen sizes: the host function and all programs of a kernel, element by element.

Nothing of the text runs. Sizes that the text leaves open are chosen, small and unlike each other,
once as powers of two, and, where the text rounds them up or bounds indices by them, once as others.
An access that leaves its allocation, an element that no program stores, or that two programs store,
is then a counterexample in numbers, whatever form the text has. What is not modelled is unknown,
and nothing is said of what it decides.
"""

from tilewright.analysis.instances.run import Faults, faults_of

__all__ = ["Faults", "faults_of"]
