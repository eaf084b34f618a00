"""Whether a kernel is still the one that was recorded."""

import textwrap

from tilewright.source.text import digest


def text_hash(source: str) -> str:
    """Of a kernel's text from its first decorator on, without blank lines and comment lines.

    The recorder in the user's process computes the same from ``inspect.getsource``.
    """
    lines = [line.rstrip() for line in textwrap.dedent(source.expandtabs()).splitlines()]
    return digest("\n".join(x for x in lines if x and not x.lstrip().startswith("#")))
