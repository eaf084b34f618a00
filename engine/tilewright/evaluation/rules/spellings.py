"""The many spellings of one operator of torch: a layer, a function, a method, a sign."""

import re

_SPELLED = re.compile(r"torch\.(?:nn\.)?(?:functional\.)?(\w+)|\.(\w+)\(\) of a tensor")
_SIGNS = {"the @ operator": "matmul", "the + operator on tensors": "add"}
_SAME = {"mm": "matmul", "bmm": "matmul"}
_OF_ANY_RANK = re.compile(r"(batch|instance)norm[123]d")


def spelled_alike(key: str) -> str:
    """What all spellings of an operator have in common; a key that is none as it is.

    ``torch.nn.LeakyReLU``, ``torch.nn.functional.leaky_relu`` and ``.leaky_relu_() of a tensor``
    are ``leakyrelu``.
    """
    if key in _SIGNS:
        return _SIGNS[key]
    found = _SPELLED.fullmatch(key)
    if found is None:
        return key
    name = (found[1] or found[2]).lower().replace("_", "")
    return _OF_ANY_RANK.sub(r"\1norm", _SAME.get(name, name))
