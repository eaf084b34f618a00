"""What other people's files and the compiler's front end raise when they do not go on."""

import triton

REFUSALS = (
    triton.TritonError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
