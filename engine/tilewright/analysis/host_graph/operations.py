"""Torch operations by what they do with memory: dotted names and methods."""

ALLOCATIONS = frozenset(
    f"torch.{name}"
    for name in (
        *("empty", "zeros", "ones", "full", "rand", "randn", "arange", "empty_strided", "eye"),
        *("linspace", "randint", "scalar_tensor"),
    )
)
LIKE = frozenset(
    f"torch.{name}_like" for name in ("empty", "zeros", "ones", "full", "rand", "randn")
)
NEW_METHODS = frozenset({"new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"})
SHAPE_ATTRIBUTES = frozenset(
    {
        *("shape", "dtype", "device", "ndim", "is_cuda", "is_xpu", "layout", "requires_grad"),
        *("itemsize", "nbytes", "is_leaf", "names"),
    }
)
SHAPE_METHODS = frozenset(
    {
        *("stride", "size", "numel", "dim", "nelement", "element_size", "is_contiguous", "type"),
        *("data_ptr", "get_device", "ndimension", "is_floating_point", "storage_offset"),
        *("is_complex", "requires_grad_", "is_signed", "ndimension", "record_stream"),
    }
)
SHAPE_FUNCTIONS = frozenset(
    {
        *("len", "isinstance", "type", "id", "hasattr", "torch.is_tensor", "torch.numel"),
        *("torch.result_type", "torch.promote_types", "torch.broadcast_shapes"),
    }
)
VIEW_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
VIEWS = frozenset(
    {
        *("view", "reshape", "t", "transpose", "permute", "squeeze", "unsqueeze", "flatten"),
        *(
            "expand",
            "expand_as",
            "narrow",
            "select",
            "as_strided",
            "unflatten",
            "detach",
            "swapaxes",
        ),
        *("movedim", "diagonal", "unfold", "view_as", "reshape_as", "ravel", "swapdims", "chunk"),
        *(
            "split",
            "unbind",
            "broadcast_to",
            "moveaxis",
            "adjoint",
            "alias",
            "broadcast_tensors",
            "view_as_complex",
            "view_as_real",
        ),
    }
)

CONVERSIONS = frozenset({"to", "float", "half", "bfloat16", "double", "type"})
ELEMENTWISE = frozenset(
    {
        *("add", "sub", "mul", "div", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "pow", "square"),
        *(
            "relu",
            "sigmoid",
            "tanh",
            "silu",
            "gelu",
            "clamp",
            "clip",
            "minimum",
            "maximum",
            "where",
        ),
        *("leaky_relu", "elu", "hardtanh", "hardswish", "mish", "softplus", "reciprocal", "erf"),
        *("relu_", "add_", "mul_", "div_", "sub_", "clamp_", "sigmoid_", "tanh_", "neg_", "exp_"),
        *(
            "logical_not",
            "lerp",
            "addcmul",
            "masked_fill",
            "masked_fill_",
            "hardsigmoid",
            "true_divide",
        ),
    }
)
OPERATORS = frozenset({"Add", "Sub", "Mult", "Div", "Pow", "USub"})
REDUCTIONS = frozenset(
    {
        *("sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var", "norm", "logsumexp"),
        *("argmax", "argmin", "any", "all"),
    }
)
PRODUCTS = frozenset({"matmul", "mm", "bmm", "mv", "linear", "addmm", "baddbmm", "MatMult"})
WRAPPERS = frozenset(
    {"range", "tuple", "list", "zip", "enumerate", "reversed", "sorted", "torch.Size"}
)


def short(operation: str) -> str:
    """The name of an operation whichever way it is called: "relu", "Mult"."""
    return operation.rpartition(".")[2]
