"""Chips to compile for, installed or not: names, compilers, reports."""

from tilewright.targets.cache import ReportCache
from tilewright.targets.caveats import caveats
from tilewright.targets.compilation import Wanted, compile_launch, compile_many, compile_stage
from tilewright.targets.model import (
    ArgumentFacts,
    CompileMessage,
    CompileReport,
    LaunchFacts,
    Target,
    TargetError,
)
from tilewright.targets.occupancy import Occupancy, occupancy_of
from tilewright.targets.registry import all_targets, neuron_targets, parse_target
from tilewright.targets.toolchains import NoToolchainError

__all__ = [
    "ArgumentFacts",
    "CompileMessage",
    "CompileReport",
    "LaunchFacts",
    "NoToolchainError",
    "Occupancy",
    "ReportCache",
    "Target",
    "TargetError",
    "Wanted",
    "all_targets",
    "caveats",
    "compile_launch",
    "compile_many",
    "compile_stage",
    "neuron_targets",
    "occupancy_of",
    "parse_target",
]
