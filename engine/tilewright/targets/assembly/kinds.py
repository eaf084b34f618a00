"""What kind an instruction is of, by its opcode; what no rule names is ``other``."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from tilewright.targets.assembly.model import Instruction


class Kind(StrEnum):
    """Kinds of instructions.

    Local accesses are to a thread's own memory: spilled registers, or arrays of functions such as
    sine, which NVIDIA's code does not distinguish. Spills are those of which the compiler says
    so. Transcendental instructions are all of the special function unit: reciprocals and roots too.
    """

    WGMMA = "wgmma"
    MMA = "mma"
    TCGEN05_MMA = "tcgen05_mma"
    MFMA = "mfma"
    WMMA = "wmma"
    DPAS = "dpas"
    ASYNC_COPY = "async_copy"
    TMA = "tma"
    BLOCK_LOAD = "block2d_load"
    BLOCK_STORE = "block2d_store"
    SHARED_LOAD = "shared_load"
    SHARED_STORE = "shared_store"
    GLOBAL_LOAD = "global_load"
    GLOBAL_STORE = "global_store"
    ATOMIC = "atomic"
    BARRIER = "barrier"
    TRANSCENDENTAL = "transcendental"
    FP64 = "fp64"
    CONVERSION = "conversion"
    CALL = "call"
    LOCAL_LOAD = "local_load"
    LOCAL_STORE = "local_store"
    SPILL_LOAD = "spill_load"
    SPILL_STORE = "spill_store"
    OTHER = "other"


Rules = tuple[tuple[Kind, re.Pattern[str]], ...]


def _rules(*rules: tuple[Kind, str]) -> Rules:
    return tuple((kind, re.compile(pattern)) for kind, pattern in rules)


# The first rule that matches the beginning of the opcode decides.
_PTX = _rules(
    (Kind.WGMMA, r"wgmma\.mma_async\b"),
    (Kind.TCGEN05_MMA, r"tcgen05\.mma\b"),
    (Kind.MMA, r"w?mma\.(?:sp\b.*\.)?(?:mma\.)?sync\b"),
    (Kind.ASYNC_COPY, r"cp\.async\.c[ag]\b"),
    (Kind.TMA, r"cp\.(?:reduce\.)?async\.bulk\.(?!commit_group|wait_group|prefetch)"),
    (Kind.LOCAL_LOAD, r"ld\.(?:\w+\.)*local\b"),
    (Kind.LOCAL_STORE, r"st\.(?:\w+\.)*local\b"),
    (Kind.SHARED_LOAD, r"(?:ldmatrix\b|ld\.(?:\w+\.)*shared\b)"),
    (Kind.SHARED_STORE, r"(?:stmatrix\b|st\.(?:\w+\.)*shared\b)"),
    (Kind.GLOBAL_LOAD, r"ld\.(?:\w+\.)*global\b"),
    (Kind.GLOBAL_STORE, r"st\.(?:\w+\.)*global\b"),
    (Kind.ATOMIC, r"(?:atom|red)\."),
    (Kind.BARRIER, r"(?:bar|barrier)\.(?:cta\.)?(?:sync|arrive|red|cluster)\b"),
    (Kind.TRANSCENDENTAL, r"(?:ex2|lg2|sin|cos|tanh|rcp|rsqrt|sqrt)\."),
    (Kind.CONVERSION, r"cvt\."),
    (Kind.CALL, r"call\b"),
    (Kind.FP64, r"(?:add|sub|mul|fma|mad|div|abs|neg|min|max)\.(?:\w+\.)*f64\b"),
)
_SASS = _rules(
    (Kind.WGMMA, r"[HIQB]GMMA\b"),
    (Kind.TCGEN05_MMA, r"UTC[HIQO]MMA\b"),
    (Kind.MMA, r"[HIQOBD]MMA\b"),
    (Kind.ASYNC_COPY, r"LDGSTS\b"),
    (Kind.TMA, r"(?:UTMALDG|UTMASTG|UTMAREDG|UBLKCP|UBLKRED)\b"),
    (Kind.LOCAL_LOAD, r"LDL\b"),
    (Kind.LOCAL_STORE, r"STL\b"),
    (Kind.SHARED_LOAD, r"LDSM?\b"),
    (Kind.SHARED_STORE, r"STSM?\b"),
    (Kind.GLOBAL_LOAD, r"LDG\b"),
    (Kind.GLOBAL_STORE, r"STG\b"),
    (Kind.ATOMIC, r"(?:ATOM[SG]?|REDG?)\b"),
    (Kind.BARRIER, r"(?:BAR|UCGABAR_ARV|UCGABAR_WAIT)\b"),
    (Kind.TRANSCENDENTAL, r"MUFU\b"),
    (Kind.FP64, r"(?:DADD|DMUL|DFMA|DSETP|DMNMX)\b"),
    (Kind.CONVERSION, r"(?:F2F|F2FP|F2I|F2IP|I2F|I2FP|I2I|I2IP)\b"),
    (Kind.CALL, r"CALL\b"),
)
_GCN = _rules(
    (Kind.MFMA, r"v_(?:mfma|smfmac)_"),
    (Kind.WMMA, r"v_s?wmmac?_"),
    (Kind.TMA, r"tensor_(?:load_to|store_from)_lds"),
    (Kind.ASYNC_COPY, r"(?:global_load_lds|global_load_async_to_lds|buffer_load_lds)_"),
    (Kind.LOCAL_LOAD, r"scratch_load_"),
    (Kind.LOCAL_STORE, r"scratch_store_"),
    (Kind.ATOMIC, r"(?:global|buffer|flat)_atomic_"),
    (Kind.GLOBAL_LOAD, r"(?:global|buffer)_load_"),
    (Kind.GLOBAL_STORE, r"(?:global|buffer)_store_"),
    (Kind.SHARED_LOAD, r"ds_(?:read|load)"),
    (Kind.SHARED_STORE, r"ds_(?:write|store)"),
    (Kind.ATOMIC, r"ds_(?:r?sub|add|inc|dec|min|max|and|or|xor|cmpst|cmpstore|pk_add)_"),
    (Kind.ATOMIC, r"ds_(?:wrxchg|storexchg)"),
    (Kind.BARRIER, r"s_barrier(?!_wait)"),
    (Kind.TRANSCENDENTAL, r"v_(?:s_)?(?:exp|log|sin|cos|rcp|rsq|sqrt|tanh)_"),
    (Kind.CONVERSION, r"v_cvt_"),
    (Kind.CALL, r"s_swappc_"),
    (Kind.FP64, r"v_(?:add|mul|fma|fmac|min|max|div\w*|ldexp)_(?:num_)?f64"),
)  # fmt: skip
_XE = _rules(
    (Kind.DPAS, r"b?dpasw?\b"),
    (Kind.BLOCK_LOAD, r"load_block2d\."),
    (Kind.BLOCK_STORE, r"store_block2d\."),
    (Kind.SHARED_LOAD, r"load\w*\.slm\b"),
    (Kind.SHARED_STORE, r"store\w*\.slm\b"),
    (Kind.GLOBAL_LOAD, r"load\w*\.ugm\b"),
    (Kind.GLOBAL_STORE, r"store\w*\.ugm\b"),
    (Kind.ATOMIC, r"atomic"),
    (Kind.BARRIER, r"sync\.bar\b"),
    (Kind.TRANSCENDENTAL, r"math\."),
    (Kind.CALL, r"call\w*\b"),
)
_RULES: Mapping[str, Rules] = {"ptx": _PTX, "sass": _SASS, "amdgcn": _GCN, "xe-asm": _XE}

_GCN_SPILL = re.compile(r"Folded (Spill|Reload)")
_GCN_TO_LDS = re.compile(r"\blds\b")
_XE_SPILL = re.compile(r"\b(spill|fill):? +(?:to|from) ")
_XE_MESSAGE = re.compile(r"\b(?:load|store|atomic)\w*\.(?:ugm|slm)\.[\w.]+")
# The surface that a kernel's arguments are loaded from.
_XE_ARGUMENTS = "bti[255]"
_XE_TYPE = re.compile(r"(?:>|[0-9a-fA-F]|\)):([a-z]+)\b")
_XE_ARITHMETIC = re.compile(r"(?:add|mul|mad|madm|cmp|sel|rnd\w)\b")
_XE_FLOATS = {"bf", "hf", "f", "df", "bf8", "hf8", "tf32"}


def kind_of(stage: str, one: Instruction) -> Kind:
    """The kind of an instruction of a stage's text."""
    told = _TOLD[stage](one) if stage in _TOLD else None
    return told or _by_opcode(stage, one.opcode)


def _by_opcode(stage: str, opcode: str) -> Kind:
    return next((kind for kind, rule in _RULES[stage] if rule.match(opcode)), Kind.OTHER)


def _told_by_amd(one: Instruction) -> Kind | None:
    """What an operand or the compiler's comment tells of an AMD instruction."""
    if spilled := _GCN_SPILL.search(one.text):
        # Lanes of another register hold scalars: no memory moves.
        if one.opcode.startswith(("v_writelane", "v_readlane", "v_accvgpr")):
            return Kind.OTHER
        return Kind.SPILL_STORE if spilled[1] == "Spill" else Kind.SPILL_LOAD
    if one.opcode.startswith(("buffer_load", "global_load")) and _GCN_TO_LDS.search(one.text):
        return Kind.ASYNC_COPY
    return None


def _told_by_intel(one: Instruction) -> Kind | None:
    """What operand types or the compiler's comment tell of an Intel instruction."""
    if spilled := _XE_SPILL.search(one.text):
        return Kind.SPILL_STORE if spilled[1] == "spill" else Kind.SPILL_LOAD
    if _XE_ARGUMENTS in one.text:
        return Kind.OTHER
    if one.opcode.startswith("send") and (message := _XE_MESSAGE.search(one.text)):
        return _by_opcode("xe-asm", message[0])
    code = one.text.partition("//")[0]
    types = _XE_TYPE.findall(code)
    if one.opcode.split(".")[0] == "mov" and len(types) > 1:
        return Kind.CONVERSION if _converts(types[0], types[1]) else None
    if "df" in types and _XE_ARITHMETIC.match(one.opcode):
        return Kind.FP64
    return None


def _converts(to: str, source: str) -> bool:
    return to != source and bool({to, source} & _XE_FLOATS)


_TOLD: Mapping[str, Callable[[Instruction], Kind | None]] = {
    "amdgcn": _told_by_amd,
    "xe-asm": _told_by_intel,
}
