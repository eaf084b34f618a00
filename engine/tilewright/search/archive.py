"""Every node of a tree by its hash, and the best that may be returned."""

from collections.abc import Iterator

from tilewright.search.node import Node


class Archive:
    """Forgets no node, so that the best never gets worse."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._best: Node | None = None

    def add(self, node: Node) -> bool:
        """Take a node in, or what is known of it now; whether it is the best."""
        again = node.hash in self._nodes
        self._nodes[node.hash] = node
        if again:
            self._best = max(filter(_returnable, self._nodes.values()), key=_speed, default=None)
        elif _returnable(node) and (self._best is None or _speed(node) > _speed(self._best)):
            self._best = node
        return self._best is not None and self._best.hash == node.hash

    def best(self) -> Node:
        """The fastest node that may be returned; the root until there is one."""
        if self._best is not None:
            return self._best
        return next(iter(self._nodes.values()))

    def get(self, name: str | None) -> Node | None:
        """A node by its hash; None for one that is not here."""
        return None if name is None else self._nodes.get(name)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)


def _returnable(node: Node) -> bool:
    return node.parent is None or (node.may_return and node.alive)


def _speed(node: Node) -> tuple[float, int]:
    """By speed; of what nothing has timed, an edit more that may be returned is preferred."""
    return node.log_speed, 0 if node.measured else node.depth
