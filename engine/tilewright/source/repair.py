"""What is left of a broken top-level statement: lines that cannot stay, blanked out."""


def repaired(text: str, error: BaseException, first: int) -> str | None:
    return None
