"""One rule an issue of the compiled tier; ``RULES`` names them by its id."""

from collections.abc import Mapping

from tilewright.compiled.model import Rule
from tilewright.compiled.rules.refusing import does_not_compile, shared_memory_over_limit
from tilewright.compiled.rules.spilling import register_spill

RULES: Mapping[str, Rule] = {
    "does_not_compile": does_not_compile,
    "shared_memory_over_limit": shared_memory_over_limit,
    "register_spill": register_spill,
}
