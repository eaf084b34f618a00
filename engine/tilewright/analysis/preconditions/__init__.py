"""Which patterns of the knowledge base apply to a kernel: ``patterns_for``.

Each precondition is a pure function of module, kernel and context. It holds, it does not hold, or
it is not known, and says why.
"""
