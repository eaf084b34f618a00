"""A candidate's text in a folder of its own, among the modules that the user's file has."""

import os
from pathlib import Path

from tilewright.textfile import encoded_python


def place_source(source: Path, text: str, folder: Path) -> Path:
    """The file in ``folder`` that holds ``text``; written, with its surroundings, the first time.

    Modules next to the user's file can be imported from the placed one as well: its
    neighbours, and where it is a member of a package, that package, whose other members are links.
    """
    user = source.resolve()
    root = user.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    path = folder / user.relative_to(root).with_name(source.name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        place, here = folder, root
        for part in user.relative_to(root).parts:
            # Above a package may stand all that is installed.
            if here != root or here == user.parent:
                _link_neighbours(here, place, part, is_package=here != root)
            place, here = place / part, here / part
        path.write_bytes(encoded_python(text, str(source)))
    return path


def _link_neighbours(beside: Path, folder: Path, name: str, *, is_package: bool) -> None:
    """Link all that a package holds, data included; elsewhere modules and packages alone."""
    for neighbour in beside.iterdir():
        # Not Path.exists, which raises where a folder may not be entered.
        is_module = neighbour.suffix == ".py" or os.path.exists(neighbour / "__init__.py")  # noqa: PTH110
        if neighbour.name not in (name, "__pycache__") and (is_module or is_package):
            (folder / neighbour.name).symlink_to(neighbour)
