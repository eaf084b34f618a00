"""What the NKI examples must compute, written with torch alone and independently of them."""

import torch
import torch.nn.functional as F


def gated(x, gate):
    """silu(x) * gate."""
    return F.silu(x) * gate


def rmsnorm(x, weight):
    """x over the root of the mean square of its row, times the weight."""
    return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6) * weight


def softmax(x):
    """Softmax over the last dimension."""
    return torch.softmax(x, dim=-1)


def matmul(lhs_t, rhs):
    """The product of the transpose of the first with the second."""
    return lhs_t.T @ rhs


def linear_gelu(x, w, b):
    """GELU (error function form) of a linear layer."""
    return F.gelu(x @ w + b)


def attention(q, k, v):
    """Attention of one head without a mask."""
    return torch.softmax(q @ k.T * q.shape[-1] ** -0.5, dim=-1) @ v


def rope(x, cos, sin):
    """The halves of the last dimension rotated by angles of their position."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


def transpose(x):
    """The transpose."""
    return x.T.contiguous()


def cumsum(x):
    """Running sums along the last dimension."""
    return torch.cumsum(x, dim=-1)


def conv1d(x, w):
    """Each channel convolved with its own taps, without padding."""
    return F.conv1d(x[None], w[:, None], groups=x.shape[0])[0]


def adamw(p, g, m, v):
    """Parameters and moments after step 1; rate 0.001, decay 0.01, betas 0.9 and 0.999."""
    mean = 0.9 * m + 0.1 * g
    spread = 0.999 * v + 0.001 * g * g
    step = 0.001 * (mean / 0.1) / ((spread / 0.001).sqrt() + 1e-8)
    return p * (1 - 0.001 * 0.01) - step, mean, spread
