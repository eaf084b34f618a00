"""The same module in torch."""

import torch


class Model(torch.nn.Module):
    def __init__(self, cols: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(cols))
        self.bias = torch.nn.Parameter(torch.zeros(cols))
        self.register_buffer("running_mean", torch.zeros(cols))
        self.register_buffer("running_var", torch.ones(cols))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, True, 0.1, 1e-5
        )
