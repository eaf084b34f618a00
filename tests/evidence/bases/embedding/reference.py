"""Rows of a table picked by ids, in torch."""

import torch


def embedding(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return table[ids]
