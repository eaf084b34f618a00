"""Renders result views into the HTML page. The only file it touches is the one asked for."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tilewright import __version__
from tilewright.report.steps import Json
from tilewright.report.view import result_view

TITLE = "Tilewright report"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("tilewright.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def render(results: Iterable[Json], title: str = TITLE, created: str = "") -> str:
    """One self-contained HTML page over the JSON of optimize results.

    ``created`` is shown as it is; the same results and ``created`` give the same page.
    """
    views = [result_view(result) for result in results]
    return _template().render(title=title, created=created, results=views, version=__version__)


def write_report(
    results: Iterable[Json], path: Path, title: str = TITLE, created: str = ""
) -> Path:
    """Write the page of ``render`` to ``path``, making its folder; gives the path back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(results, title, created), encoding="utf-8")
    return path
