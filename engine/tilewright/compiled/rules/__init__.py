"""One rule an issue of the compiled tier; ``RULES`` names them by its id."""

from collections.abc import Mapping

from tilewright.compiled.model import Rule
from tilewright.compiled.rules.accesses import unvectorized_access
from tilewright.compiled.rules.conversions import layout_conversion_in_loop
from tilewright.compiled.rules.dots import dot_without_tensor_unit
from tilewright.compiled.rules.doubles import double_precision
from tilewright.compiled.rules.emulated import emulated_instructions
from tilewright.compiled.rules.gathers import gather_not_block_load
from tilewright.compiled.rules.modes import register_mode
from tilewright.compiled.rules.occupancy import low_occupancy
from tilewright.compiled.rules.refusals import does_not_compile, shared_memory_over_limit
from tilewright.compiled.rules.spills import register_spill

RULES: Mapping[str, Rule] = {
    "does_not_compile": does_not_compile,
    "shared_memory_over_limit": shared_memory_over_limit,
    "register_spill": register_spill,
    "unvectorized_access": unvectorized_access,
    "dot_without_tensor_unit": dot_without_tensor_unit,
    "layout_conversion_in_loop": layout_conversion_in_loop,
    "low_occupancy": low_occupancy,
    "register_mode": register_mode,
    "double_precision": double_precision,
    "emulated_instructions": emulated_instructions,
    "gather_not_block_load": gather_not_block_load,
}
