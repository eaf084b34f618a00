"""What a compiler does with chains of elementwise instructions before it runs them.

Seen in published profiles: an instruction with a tile and a scalar is taken along by the one that
reads its result, and arithmetic of one tile and constants becomes one pass over it.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.worker.messages.nki import InstructionRecord

_TAKES_SCALAR = frozenset(
    {"tensor_scalar", "tensor_tensor", "activation", "add", "subtract", "multiply"}
)
Place = tuple[int, str]
"""A line and an operation: a mask gives several records of one."""


@dataclass(frozen=True)
class Merges:
    """What a compiler merges.

    Attributes:
        left_out: instructions with a scalar that another takes along at no cost of its own.
        of_one_tile: instructions with two tiles that come from one.
    """

    left_out: frozenset[Place]
    of_one_tile: frozenset[Place]


def place_of(record: InstructionRecord) -> Place:
    """Where a record stands."""
    return record["line"], record["op"]


def merges_of(records: Sequence[InstructionRecord]) -> Merges:
    """The instructions of a kernel that are merged.

    One with a tile and a scalar can be the first of the two operations of the next one with a
    scalar, or of one with two tiles, or the scale and bias of an activation, if nothing else reads
    its result and both run equally often.
    """
    chains = _Chains(records)
    left_out: set[Place] = set()
    taken: set[Place] = set()
    one_tile: set[Place] = set()
    for record in records:
        place = place_of(record)
        if _name(place) != "tensor_scalar" or len(record["reads"]) != 1 or place in taken:
            continue
        reader = chains.only_reader(record)
        if reader is None or reader in taken - {place}:
            continue
        left_out.add(place)
        taken.add(reader)
        if chains.reads_also(reader, record):
            one_tile.add(reader)
    return Merges(frozenset(left_out), frozenset(one_tile))


class _Chains:
    """Who reads what."""

    def __init__(self, records: Sequence[InstructionRecord]) -> None:
        self._readers: dict[int, set[Place]] = defaultdict(set)
        self._counts: Counter[Place] = Counter()
        self._first: dict[Place, InstructionRecord] = {}
        for record in records:
            place = place_of(record)
            self._first.setdefault(place, record)
            self._counts[place] += record["count"]
            for tile in record["reads"]:
                self._readers[tile["tensor"]].add(place)

    def only_reader(self, record: InstructionRecord) -> Place | None:
        """The one instruction that reads a result, if it can take along how that was made."""
        place = place_of(record)
        using = {one for tile in record["writes"] for one in self._readers[tile["tensor"]]}
        if len(using) != 1 or place in using:
            return None
        (reader,) = using
        fits = _name(reader) in _TAKES_SCALAR and self._counts[reader] == self._counts[place]
        return reader if fits else None

    def reads_also(self, reader: Place, record: InstructionRecord) -> bool:
        """Whether the other tile of ``reader`` is what ``record`` was made from."""
        made = {tile["tensor"] for tile in record["writes"]}
        others = [t for t in self._first[reader]["reads"] if t["tensor"] not in made]
        (source,) = record["reads"]
        return len(others) == 1 and others[0] == source


def _name(place: Place) -> str:
    return place[1].rpartition(".")[2]
