"""The names that host code around launches needs, and those that say a tensor is computed with."""

import abc
import collections
import dataclasses
import enum
import functools
import itertools
import math
import numbers
import sys
import typing

from tilewright.problems.permissions import PREPACKED, WORKSPACES


def is_beyond(dotted: str) -> bool:
    """Whether a name of the language is none of kernels."""
    return "inline_asm" in dotted or dotted.rpartition(".")[2] in BEYOND


def listed(names: str) -> frozenset[str]:
    """Names that stand in a text with spaces between them."""
    return frozenset(names.split())


MODULES = listed(
    "__future__ abc collections dataclasses enum functools itertools logging math numbers torch "
    "triton typing typing_extensions nki neuronxcc"
)
"""What a candidate may import though the original does not."""

OF_TILES = listed(
    "shape dtype ndim size itemsize buffer broadcast_to reshape ap astype view expand_dims T p x y "
    "z w"
)
"""Attributes of NKI's tensors, tiles and indices that NKI documents or kernels rely on."""
OF_CONTAINERS = listed(
    "append extend insert pop remove clear index count copy items keys values get update "
    "setdefault join format split strip startswith endswith lower upper replace bit_length "
    "is_integer type add"
)
"""Methods of Python's own containers, words and numbers."""
NUMPY_TYPES = listed(
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 dtype finfo "
    "iinfo inf nan pi e newaxis ndarray generic integer floating number"
)
"""Names of numpy that NKI kernels use for element types and for numbers."""
NUMPY_OPERATORS = listed(
    "abs absolute add subtract multiply divide maximum minimum max min power exp log sqrt square "
    "sin cos tanh arctan sign floor ceil negative reciprocal equal not_equal less less_equal "
    "greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
    "bitwise_xor bitwise_not invert left_shift right_shift sum prod mod"
)
"""Names of numpy that instructions of NKI take for the operator of the same name."""
NUMPY_CONSTANTS = listed("identity eye ones zeros full arange tri")
"""Functions of numpy by which NKI kernels make constants, of numbers alone."""
NUMPY_OF_CONSTANTS = listed("array tril triu")
"""The same, of literals and of what the former make."""

KEEPING = listed(
    "functools.reduce functools.singledispatch functools.singledispatchmethod itertools.count "
    "itertools.cycle itertools.tee dataclasses.make_dataclass typing.get_type_hints"
)
"""Names of those modules that compute with tensors unseen, keep something, or run texts."""

_OFFERING = (abc, collections, dataclasses, enum, functools, itertools, math, numbers, typing)
OFFERED = {
    module.__name__: frozenset(getattr(module, "__all__", None) or dir(module)) | {"abc"}
    for module in _OFFERING
}
LEVELS = listed("DEBUG INFO WARNING ERROR CRITICAL")
OFFERED["logging"] = LEVELS | {"getLogger", "Logger"}
"""What the modules of the standard library among them mean for others."""

LOGGING = listed("debug info warning error exception critical log isEnabledFor")
"""Methods of a logger that say something, or ask whether it is said."""

BEYOND = ("extern_elementwise", "device_print", "globaltimer", "clock", "clock64")
"""Names of the language that are no language of kernels: other code, output, clocks."""

BEHIND = (sys.stdlib_module_names - {"math", "random"}) | listed("builtins ir knobs semantic")
"""Modules that the language's own modules import, and that may be reached through them."""

BUILTINS = listed(
    "breakpoint compile delattr dir eval exec globals "
    "exit hash help id input locals memoryview object open quit setattr vars "
    "BaseException GeneratorExit KeyboardInterrupt SystemExit"
)
"""What reaches beyond the code at hand."""

DUNDERS = listed("__init__ __name__ __version__")
DUNDER_NAMES = listed("__all__ __author__ __match_args__ __slots__ __version__")
"""Names with double underscores that a text may bind."""

METHODS_OF_CLASSES = listed("__init__ __post_init__ __repr__ __call__ __len__ __hash__ __eq__")
_DTYPES = (
    "float16 bfloat16 float32 float64 half float double int8 int16 int32 int64 int long short "
    "uint8 uint16 uint32 uint64 bool complex64 complex128 float8_e4m3fn float8_e5m2 "
    "float8_e4m3fnuz float8_e5m2fnuz"
)
_MADE = (
    "empty empty_like empty_strided empty_permuted zeros zeros_like ones ones_like full full_like "
    "tensor arange"
)
_SHAPED = "as_strided broadcast_shapes reshape transpose permute unsqueeze squeeze flatten narrow"
_TOLD = (
    "Tensor dtype device Size Generator finfo iinfo is_tensor is_floating_point promote_types "
    "result_type get_default_dtype strided contiguous_format preserve_format channels_last "
    "no_grad inference_mode nn.Module nn.ModuleList nn.ModuleDict nn.Parameter nn.ParameterList "
    "nn.ParameterDict autograd.Function version.hip version.cuda "
    "cuda.get_device_properties cuda.current_device cuda.get_device_capability cuda.is_available "
    "cuda.device xpu.get_device_properties xpu.current_device xpu.is_available xpu.device "
    "cuda.current_stream xpu.current_stream cuda.device_count xpu.device_count "
    "float8_e8m0fnu"
)
TORCH_MADE = frozenset(f"torch.{name}" for name in listed(_MADE))
TORCH = TORCH_MADE | {f"torch.{name}" for name in listed(f"{_DTYPES} {_SHAPED} {_TOLD}")}
"""Names of torch that host code needs to launch: memory, shapes, dtypes, questions to devices."""

PRECISION = listed(
    "torch.backends.cuda.matmul.allow_tf32 torch.backends.cudnn.allow_tf32 "
    "torch.get_float32_matmul_precision"
)
"""Questions for the precision that a process permits torch: asked, not set."""

_DRIVER = "driver.active"
TRITON = frozenset(
    f"triton.{name}"
    for name in listed(
        "jit autotune heuristics Config cdiv next_power_of_2 constexpr_function __version__ "
        "set_allocator "
        f"{_DRIVER} {_DRIVER}.get_current_target {_DRIVER}.get_current_device "
        f"{_DRIVER}.get_active_torch_device {_DRIVER}.utils.get_device_properties"
    )
)
TRITON_SPACES = ("triton.language", "triton.experimental", "triton.tools.tensor_descriptor.")

PROPERTIES = listed(
    "shape dtype device ndim is_cuda is_xpu layout requires_grad T mT data grad grad_fn "
    "itemsize nbytes"
)
SHAPING = listed(
    "contiguous view reshape expand expand_as permute transpose t unsqueeze squeeze flatten "
    "unflatten detach view_as reshape_as movedim swapaxes narrow as_strided select unbind chunk "
    "split to type half float double bfloat16 int long bool clone new_empty new_zeros new_ones "
    "new_full new_empty_strided new_tensor zero_ fill_ copy_ requires_grad_ cuda xpu "
    "type_as"
)
ASKING = listed(
    "stride size numel dim element_size is_contiguous data_ptr storage_offset get_device "
    "is_floating_point is_complex nelement ndimension"
)
METHODS = PROPERTIES | SHAPING | ASKING
"""Attributes of a tensor that do no kernel's work."""

TELLING = listed("is_cuda shape")
CALLED_TELLING = listed(
    "stride numel is_contiguous contiguous data_ptr element_size new_empty new_zeros storage_offset"
)
"""Attributes and methods by which a name is known for a tensor: a layer has a stride as well, which
nobody calls."""

COMPUTING = listed(
    "matmul mm bmm addmm baddbmm einsum dot mv outer sum mean prod var std norm exp exp2 log log2 "
    "log1p expm1 softmax log_softmax relu relu_ gelu silu sigmoid sigmoid_ tanh tanh_ sqrt rsqrt "
    "pow abs neg add_ sub sub_ mul mul_ div div_ addcmul addcdiv lerp amax amin argmax argmin max "
    "min cumsum cumprod where masked_fill masked_fill_ gather scatter scatter_ scatter_add "
    "scatter_add_ index_select index_add index_add_ index_copy_ index_put_ sort argsort topk clamp "
    "clamp_ clamp_min clamp_max tril triu flip roll repeat repeat_interleave floor ceil "
    "logical_and logical_or logical_not masked_select nonzero take put_ erf sin cos reciprocal "
    "square maximum minimum normal_ uniform_ random_ bernoulli_ exponential_ map_ apply_ "
    "item tolist numpy cpu untyped_storage storage set_ resize_ _version register_hook "
    "share_memory_ pin_memory record_stream"
)
"""Attributes that nothing but a tensor has, and that compute, move or expose its contents."""

FIRST_VALUES = listed("normal_ uniform_ random_ bernoulli_ exponential_")
"""Those of them that only fill with random numbers: what a constructor gives weights by."""

CHANGING = listed(
    "add add_module add_pre_run_hook append appendleft clear discard extend extendleft insert pop "
    "popitem popleft put register_buffer register_forward_hook register_forward_pre_hook "
    "register_module register_parameter remove reverse setdefault sort update"
)
"""Methods that change what they are called on."""

KEEPING_TENSORS = (WORKSPACES, PREPACKED)
"""Settings that permit what keeps something from call to call: what that is shows when it runs."""

BUILTIN_OPERATORS = listed("abs bool float int sum max min pow divmod round any all sorted")
