"""Fixes for compiler errors: the compiler's message, with the fix that it lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from tilewright.targets.model import CompileMessage

_AT = re.compile(r'([^\s":]+\.py)"?:(\d+)(?::(\d+))?')


class _Rule(NamedTuple):
    """What the words say, and what to do; both may use the groups of the pattern.

    ``says`` is empty where the compiler's own words are plain.
    """

    words: re.Pattern[str]
    way_out: str
    says: str = ""


def _rule(words: str, way_out: str, says: str = "") -> _Rule:
    return _Rule(re.compile(words, re.DOTALL), way_out, says)


# The first that matches decides. Words of Triton 3.3 to 3.9, its backends, ptxas 13 and IGC 2.
_RULES = (
    _rule(
        r"arange's range must be a power of 2|Shape element \d+ must be a power of 2",
        "round it up to one (triton.next_power_of_2 in host code) and mask what lies beyond",
    ),
    _rule(
        r"arange's arguments must be of type tl\.constexpr",
        "its bounds must be known when it is compiled: pass them as tl.constexpr parameters",
    ),
    _rule(
        r"Input shapes should have M >= (?P<m>\d+), N >= (?P<n>\d+) and K >= (?P<k>\d+)",
        "give tl.dot tiles of at least {m} x {k} and {k} x {n}, padded with masked zeros, or "
        "multiply and tl.sum where the matrices are smaller",
    ),
    _rule(
        r"Both operands must be same dtype\. Got (?P<a>\w+) and (?P<b>\w+)",
        "convert one of them with .to() before tl.dot",
    ),
    _rule(
        r"Unsupported lhs dtype fp64",
        "tl.dot takes no fp64 for this target: convert both operands to fp32, or multiply and "
        "tl.sum",
    ),
    _rule(
        r"First input shape .*not compatible for matmul|(?:First|Second) input.*must be equal",
        "the columns of the first must be the rows of the second: tl.trans turns a tile",
    ),
    _rule(
        r"type (?P<type>fp8\w+) not supported in this architecture",
        "use one of these for this target, or convert to fp16 or bf16",
    ),
    _rule(
        r"[Tt]arget doesn't provide conversion for",
        "convert in two steps by way of fp16, or use another 8-bit type for this target",
    ),
    _rule(
        r"Block pointers have been removed",
        "tl.make_tensor_descriptor(base, shape, strides, block_shape) takes their place, with "
        ".load([row, column]) and .store([row, column], value) in elements",
    ),
    _rule(
        r"incompatible dimensions at index \d+: (?P<a>\d+) and (?P<b>\d+)",
        "tiles broadcast only along dimensions of 1: insert one with [:, None] or [None, :], or "
        "give both the same extent",
    ),
    _rule(
        r"Loop-carried variable (?P<name>\w+) has initial type (?P<a>.+?) but is re-assigned to "
        r"(?P<b>.+?) in loop",
        "set {name} before the loop to a value of the type and shape it gets in it, for example "
        "with tl.zeros(shape, dtype), or convert it in the loop with .to()",
    ),
    _rule(
        r"Mismatched type for (?P<name>\w+) between then block",
        "give {name} the same shape and dtype on both branches, or choose with tl.where",
    ),
    _rule(
        r"numel \((?P<n>\d+)\) exceeds triton maximum tensor numel \((?P<most>\d+)\)",
        "use a smaller tile, and a loop or a larger grid over the rest",
    ),
    _rule(
        r"Cannot access global variable (?P<name>\w+) from within",
        "define it as {name} = tl.constexpr(...), pass it as an argument, or decorate it with "
        "@triton.jit if it is a function",
        "the kernel reads {name} of its module, which is neither a tl.constexpr nor a Triton "
        "function",
    ),
    _rule(
        r"Unsupported function referenced: <function (?P<name>[\w.]+)",
        "decorate {name} with @triton.jit, and write it in Triton's language",
        "the kernel calls {name}, which is a Python function",
    ),
    _rule(
        r"Did you forget to add @triton\.jit",
        "decorate the function that calls it with @triton.jit",
    ),
    _rule(
        r"unsupported AST node type: (?P<node>Break|Continue)",
        "Triton has neither break nor continue: put the condition into a while, or mask what is "
        "not wanted",
    ),
    _rule(
        r"Cannot have `return` statements inside",
        "set a flag, or mask what follows with an if, and return after the loop",
    ),
    _rule(
        r"unsupported AST node type: (?P<node>\w+)|only tuple comprehensions are supported",
        "Triton compiles a part of Python only: write it with tiles, if, for and while, or do it "
        "in host code",
    ),
    _rule(
        r"invalid function identifier: (?P<name>\S+)",
        "give {name}, and whatever else the kernel names, a name of ASCII letters, digits and _",
        "the compiler takes no such name of a kernel",
    ),
    _rule(
        r"^(?:\S+ )?has no @triton\.jit kernel '(?P<name>\w+)'",
        "define or import {name} at the top level of the file, not inside a function or under a "
        "condition that does not hold here",
        "importing the file makes no kernel {name}",
    ),
    _rule(
        r"module 'triton\.language(?P<sub>[\w.]*)' has no attribute '(?P<name>\w+)'",
        "check its spelling, and whether this version of Triton has it",
    ),
    _rule(
        r"'dtype' object is not callable",
        "make a value with tl.full((), value, dtype), or convert one with .to(dtype)",
        "a type of triton.language is called like a function, which it is not",
    ),
    _rule(
        r"^(?:name )?'?(?P<name>\w+)'? is not defined",
        "set {name} before this line on every path, or pass it as an argument",
    ),
    _rule(
        r"Implicit conversion of CUDA (?P<name>__nv_\w+) device function",
        "import libdevice from triton.language.extra, which is there for every target",
        "this calls {name} of NVIDIA's library by its CUDA name",
    ),
    _rule(
        r"(?:needs (?P<bytes>\d+) bytes of shared memory, (?P<chip>\S+) allows (?P<most>\d+))$",
        "use smaller tiles or fewer num_stages",
    ),
    _rule(
        r"needs (?P<columns>\d+) columns of tensor memory|out of resource: tensor memory",
        "use a smaller accumulator (BLOCK_M x BLOCK_N), or keep fewer of them at a time",
    ),
    _rule(
        r"uses too much shared data",
        "use smaller tiles or fewer num_stages",
        "the kernel needs more shared memory than the target has",
    ),
    _rule(
        r"Not a name of any known instruction: '(?P<name>\w+)'",
        "correct the inline assembly, or choose by target what to write there",
        "NVIDIA's assembler knows no instruction {name}",
    ),
    _rule(
        r"(?:requires|not supported on) \.target ['`]?(?P<arch>sm_\w+)",
        "write it for this target without that instruction or type, or leave the target out",
        "the kernel uses an instruction that this target's assembler refuses",
    ),
    _rule(
        r"PTXAS error|^ptxas:|`ptxas` ",
        "try other tiles, num_warps or num_stages; if there is no inline assembly in it, this is "
        "a fault of the compiler worth reporting to Triton",
        "NVIDIA's assembler refuses what Triton made of the kernel",
    ),
    _rule(
        r"AMD assembler rejected|Constraints for inline assembly cannot be validated",
        "inline assembly is of one vendor: choose by target what to write there, or use "
        "triton.language's own functions",
        "the kernel's inline assembly is not of this target",
    ),
    _rule(
        r"(?:large|256).{0,40}num_warps|num_warps.{0,60}(?:large|256).{0,20}(?:GRF|grf|register)",
        "use at most 32 warps with the large register file, or grf_mode=128",
    ),
    _rule(
        r"at most (?P<most>\d+) sub-groups a program|work items, \S+ allows \d+ a program",
        "use a smaller num_warps",
    ),
    _rule(
        r"the compiler did not finish within (?P<seconds>\d+) s",
        "smaller tiles, fewer num_stages or more num_warps leave it less to do",
    ),
    _rule(
        r"LLVM ERROR|Assertion .*failed|the compiler (?:crashed|died|was killed)|SIG[A-Z]{3,4}\b",
        "this is a fault of the compiler worth reporting; other tiles, num_stages or num_warps "
        "may avoid it",
    ),
    _rule(
        r"PassManager::run failed",
        "this is a fault of the compiler worth reporting; other tiles, num_stages or num_warps "
        "may avoid it",
        "the compiler gave up while it lowered the kernel",
    ),
)  # fmt: skip


def with_way_out(message: CompileMessage) -> CompileMessage:
    """The message as a sentence that says what to do; as it was where no rule knows its words."""
    for rule in _RULES:
        if match := rule.words.search(message.text):
            return replace(message, text=_sentence(rule, match, message.text))
    return message


def _sentence(rule: _Rule, match: re.Match[str], words: str) -> str:
    known: Mapping[str, str] = {name: part or "" for name, part in match.groupdict().items()}
    way_out = rule.way_out.format(**known)
    if not rule.says:
        return f"{words.rstrip('.!')}: {way_out}"
    return f"{rule.says.format(**known)}: {way_out} (the compiler says: {words})"


def placed(message: CompileMessage, said: str, source: str) -> CompileMessage:
    """The message on the last line of the user's file that a compiler named before it failed."""
    found = [m for m in _AT.finditer(said) if m[1].rpartition("/")[2] == source]
    if message.line is not None or not found:
        return message
    last = found[-1]
    column = max(0, int(last[3]) - 1) if last[3] else None
    return replace(message, line=int(last[2]), column=column)
