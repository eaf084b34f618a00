"""The classes of a file, and which host functions a call may mean."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.python_syntax import descendants
from tilewright.source.model import Module
from tilewright.source.names import Names
from tilewright.source.node_memo import per_node, text_memo_of

_AROUND = (ast.ClassDef, ast.If, ast.Try)
_AUTOGRAD = ("torch.autograd.Function", "torch.autograd.function.Function")


@dataclass(frozen=True)
class Class:
    """A class with its bases by dotted name."""

    name: str
    bases: tuple[str, ...]
    node: ast.ClassDef = field(compare=False, repr=False)

    @property
    def attributes(self) -> Mapping[str, ast.expr]:
        """What instances' attributes are first given in its text."""
        return _attributes(self.node)


@dataclass(frozen=True)
class Classes:
    """What calls mean in one file.

    Attributes:
        functions: the host functions by qualified name.
        aliases: module-level names, given a value once.
    """

    names: Names
    by_name: Mapping[str, Class]
    functions: Mapping[str, ast.FunctionDef] = field(repr=False)
    aliases: Mapping[str, ast.expr] = field(repr=False)

    def method(self, owner: str, name: str) -> str | None:
        """The qualified name of a method, looked up through the bases that the file holds."""
        pending, seen = [owner], set[str]()
        while pending:
            current = pending.pop(0)
            known = self.by_name.get(current)
            if known is None or current in seen:
                continue
            seen.add(current)
            if f"{current}.{name}" in self.functions:
                return f"{current}.{name}"
            pending.extend(known.bases)
        return None

    def called_functions(self, call: ast.Call, inside: str) -> Iterator[tuple[str, bool]]:
        """Host functions that a call in ``inside`` runs, and whether autograd runs them later."""
        yield from self._target(call.func, inside, 0)

    def _target(self, node: ast.expr, inside: str, depth: int) -> Iterator[tuple[str, bool]]:
        if depth > 4:
            return
        match node:
            case ast.Name(id=name):
                yield from self._of_name(node, name, inside, depth)
            case ast.Attribute(value=owner, attr="apply") if self._is_autograd(owner):
                yield from self._applied(owner)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                yield from self._of_instance(attr, inside)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.by_name:
                yield from self._one(self.method(name, attr))
            case ast.Call() | ast.Attribute():
                made = self._constructed_class(node, inside)
                if made is not None:
                    yield from self._run(made)

    def _of_name(
        self, node: ast.Name, name: str, inside: str, depth: int
    ) -> Iterator[tuple[str, bool]]:
        scope = inside.split(".")
        for length in range(len(scope), -1, -1):
            qualified = ".".join((*scope[:length], name))
            if qualified in self.functions and (length == 0 or not self._in_class(scope[:length])):
                yield qualified, False
                return
        if name in self.by_name:
            yield from self._one(self.method(name, "__init__"))
            return
        made = self._constructed_class(node, inside)
        if made is not None:
            yield from self._run(made)
            return
        given = self._local(inside, name) or self.aliases.get(name)
        if given is not None and not isinstance(given, ast.Call):
            yield from self._target(given, inside, depth + 1)

    def _in_class(self, scope: list[str]) -> bool:
        return ".".join(scope) in self.by_name

    def _of_instance(self, attr: str, inside: str) -> Iterator[tuple[str, bool]]:
        owner = self._owner(inside)
        method = None if owner is None else self.method(owner, attr)
        if method is not None:
            yield method, False
            return
        given = self._attribute(owner, attr)
        made = None if given is None else self._constructed_class(given, inside)
        if made is not None:
            yield from self._run(made)
        elif isinstance(given, ast.Name | ast.Attribute):
            yield from self._target(given, inside, 4)

    def _owner(self, inside: str) -> str | None:
        """The class whose method ``inside`` is, or stands in."""
        scope = inside.split(".")
        for length in range(len(scope) - 1, 0, -1):
            if self._in_class(scope[:length]):
                return ".".join(scope[:length])
        return None

    def _attribute(self, owner: str | None, attr: str) -> ast.expr | None:
        known = self.by_name.get(owner or "")
        if known is None:
            return None
        given = known.attributes.get(attr)
        if given is not None:
            return given
        return next((g for b in known.bases if (g := self._attribute(b, attr))), None)

    def _constructed_class(self, node: ast.expr, inside: str) -> str | None:
        """The class that an expression makes an instance of: ``Norm(8)`` or a name for it."""
        if isinstance(node, ast.Name):
            given = self._local(inside, node.id) or self.aliases.get(node.id)
            return (
                None
                if given is None or isinstance(given, ast.Name)
                else self._constructed_class(given, "")
            )
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "self":
                given = self._attribute(self._owner(inside), node.attr)
                return None if given is None else self._constructed_class(given, "")
            return None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id if node.func.id in self.by_name else None
        return None

    def _local(self, inside: str, name: str) -> ast.expr | None:
        """What a local name is given, if it is given one thing only."""
        function = self.functions.get(inside)
        return None if function is None else _given_once(function).get(name)

    def _run(self, owner: str) -> Iterator[tuple[str, bool]]:
        """What calling an instance runs: a module's ``forward`` or ``__call__``."""
        found = self.method(owner, "__call__") or self.method(owner, "forward")
        yield from self._one(found)

    def _one(self, method: str | None) -> Iterator[tuple[str, bool]]:
        if method is not None:
            yield method, False

    def _is_autograd(self, owner: ast.expr) -> bool:
        if not isinstance(owner, ast.Name):
            return False
        pending, seen = [owner.id], set[str]()
        while pending:
            known = self.by_name.get(pending.pop())
            if known is None or known.name in seen:
                continue
            seen.add(known.name)
            if any(base in _AUTOGRAD for base in known.bases):
                return True
            pending.extend(known.bases)
        return False

    def _applied(self, owner: ast.expr) -> Iterator[tuple[str, bool]]:
        assert isinstance(owner, ast.Name)
        yield from self._one(self.method(owner.id, "forward"))
        backward = self.method(owner.id, "backward")
        if backward is not None:
            yield backward, True


@per_node
def _given_once(function: ast.FunctionDef) -> Mapping[str, ast.expr]:
    """Local names that one assignment gives a value, with that value."""
    given: dict[str, list[ast.expr]] = {}
    for node in descendants(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                given.setdefault(target.id, []).append(node.value)
    return {name: values[0] for name, values in given.items() if len(values) == 1}


def classes_of(module: Module) -> Classes:
    """The classes of a file, with what its names stand for."""
    found: dict[str, Class] = {}
    aliases: dict[str, ast.expr] = {}
    pending: list[tuple[ast.stmt, str]] = [(s, "") for s in module.tree.body]
    while pending:
        statement, prefix = pending.pop()
        if isinstance(statement, ast.ClassDef):
            name = prefix + statement.name
            bases, has_inner = _head(statement, module.names)
            found[name] = Class(name, bases, statement)
            if has_inner:
                pending.extend((inner, f"{name}.") for inner in statement.body)
        elif isinstance(statement, ast.If | ast.Try):
            for part in (statement.body, statement.orelse):
                pending.extend((inner, prefix) for inner in part)
        elif isinstance(statement, ast.Assign) and not prefix:
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    aliases[target.id] = statement.value
    return Classes(module.names, found, module.host_functions, aliases)


def _head(node: ast.ClassDef, names: Names) -> tuple[tuple[str, ...], bool]:
    """The bases of a class by dotted name, and whether there may be classes in it."""
    memo = text_memo_of(node)
    known: tuple[Names, tuple[str, ...], bool] | None = memo.get(_head)
    if known is None or known[0] is not names:
        bases = tuple(names.resolve(base) or "" for base in node.bases)
        has_inner = any(isinstance(part, _AROUND) for part in node.body)
        known = memo[_head] = names, bases, has_inner
    return known[1:]


@per_node
def _attributes(node: ast.ClassDef) -> Mapping[str, ast.expr]:
    """What instances' attributes are first given in the text of a class."""
    attributes: dict[str, ast.expr] = {}
    for part in descendants(node):
        for target in part.targets if isinstance(part, ast.Assign) else ():
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                    assert isinstance(part, ast.Assign)
                    attributes.setdefault(attr, part.value)
    return attributes
