"""Every relation that is checked, in the order in which calls are spent on them."""

from tilewright.executed.relations.flags import with_flags
from tilewright.executed.relations.invariance import invariance
from tilewright.executed.relations.large_extents import large_extents
from tilewright.executed.relations.model import Relation
from tilewright.executed.relations.references import with_function, with_operator

RELATIONS: tuple[Relation, ...] = (
    large_extents, invariance, with_flags, with_operator, with_function,
)  # fmt: skip
