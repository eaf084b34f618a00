"""Handlers whose modules are imported when a client first asks: the server starts sooner."""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any

Handler = Callable[..., Awaitable[Any]]


def lazy(module: str, name: str) -> Handler:
    """An async handler of a module of this package, such as ``lazy("features.hover", "hover")``."""
    _MODULES.append(f"tilewright_server.{module}")

    async def handler(*arguments: Any) -> Any:
        return await getattr(import_module(f"tilewright_server.{module}"), name)(*arguments)

    handler.__name__ = handler.__qualname__ = name
    return handler


def lazy_modules() -> Iterable[str]:
    """The modules of all handlers made so far."""
    return tuple(dict.fromkeys(_MODULES))


_MODULES: list[str] = []
