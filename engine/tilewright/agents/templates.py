"""The sentences of the prompts, from the templates of this package."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_COMMON = "common"


@cache
def _environment() -> Environment:
    return Environment(  # the result is Markdown for a model, no HTML
        loader=PackageLoader("tilewright.agents"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def sentences(role: str, block: str, **values: Any) -> str:
    """A block of a role's template; of the templates that it extends, where it has none."""
    for name in (role, *_BASES.get(role, ()), _COMMON):
        template = _environment().get_template(f"{name}.md.j2")
        if block in template.blocks:
            context = template.new_context(values)
            return "".join(template.blocks[block](context)).strip()
    raise KeyError(f"no template of {role} has the block {block}")


_BASES = {"extractor": ("optimizer",)}
