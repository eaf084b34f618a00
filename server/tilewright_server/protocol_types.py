"""The protocol's classes, each completed when it is first used.

``lsprotocol.types`` has over 500 attrs classes. Writing and compiling their methods is a third of
the processor time of the server's start, and a session uses a few dozen of them.
"""

import sys
import threading
from importlib import import_module
from typing import Any, get_type_hints

import attrs

_TYPES = "lsprotocol.types"
_FIELDS = "__attrs_attrs__"
_define = attrs.define


def import_protocol_types() -> None:
    """Import ``lsprotocol.types`` with attrs classes that are completed at their first use.

    Classes that are there already stay as they are. To be called while no other thread imports.
    """
    if _TYPES in sys.modules:
        return
    complete: list[type] = []

    def later(cls: Any = None, **options: Any) -> Any:
        if cls is not None and not options and "__init__" not in cls.__dict__:
            return _Incomplete(cls).cls
        complete.append(cls)
        return _define(cls, **options)

    attrs.define = later  # type: ignore[assignment]
    try:
        import_module(_TYPES)
    finally:
        attrs.define = _define
    if not complete:
        # Before the first message is converted, the names in the annotations of all classes are
        # resolved, which would complete them all. Here each is resolved when it is completed.
        vars(import_module("lsprotocol._hooks"))["_resolved_forward_references"] = True


class _Incomplete:
    """Stands for the fields of a class, and completes the class when someone looks them up.

    The class itself stays: it gets no slots, for which attrs would make another class.
    """

    _one_at_a_time = threading.RLock()

    def __init__(self, cls: Any) -> None:
        def construct(this: Any, *args: Any, **kwargs: Any) -> None:
            self._complete()
            cls.__init__(this, *args, **kwargs)

        self.cls = cls
        cls.__init__ = construct
        setattr(cls, _FIELDS, self)

    def __get__(self, instance: object, owner: type) -> Any:
        self._complete()
        return getattr(owner, _FIELDS)

    def _complete(self) -> None:
        with self._one_at_a_time:
            if self.cls.__dict__[_FIELDS] is self:
                types = vars(sys.modules[_TYPES])
                self.cls.__annotations__ = get_type_hints(self.cls, types)
                # Asked for by name, since attrs leaves a constructor alone that a class has.
                _define(self.cls, slots=False, init=True)
