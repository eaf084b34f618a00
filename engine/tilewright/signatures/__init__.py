"""What to compile a kernel with: from a spec, from captured launches, or inferred and said so."""

from tilewright.signatures.candidates import guesses
from tilewright.signatures.model import Assumption, Guess, Origin, Signature, in_words
from tilewright.signatures.selection import Inferred, inferred
from tilewright.signatures.sources import inferable, problem_without_spec, specialization_key

__all__ = [
    "Assumption",
    "Guess",
    "Inferred",
    "Origin",
    "Signature",
    "guesses",
    "in_words",
    "inferable",
    "inferred",
    "problem_without_spec",
    "specialization_key",
]
