"""Whether a text can hold a kernel, decided without parsing."""

# A kernel's language is imported under its name: most files of a project name none.
_LANGUAGES = ("triton", "nki")


def may_hold_kernels(text: str) -> bool:
    """False for a text that names no tile language anywhere, and so need not be parsed."""
    return any(language in text for language in _LANGUAGES)
