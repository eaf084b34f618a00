"""``targets``: the chips, the figures of one with their sources, parameters for a shape."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.table import Table

from tilewright.cli.output import OUT, AsFormat, Format, emit_json
from tilewright.errors import InputError
from tilewright.hardware.chips import all_chips, chip, neuron_chips
from tilewright.hardware.configs import dot_configs, row_configs
from tilewright.hardware.model import Chip
from tilewright.hardware.neuron import NeuronChip
from tilewright.serialize import dump

_LIMIT = 6
_COLUMNS = 79
_WORDS = {
    "warp_size": "threads a warp",
    "max_warps": "warps a program",
    "max_warps_large_registers": "warps with 256 registers",
    "max_registers": "registers a thread",
    "register_bytes": "registers a warp, bytes",
    "register_file_bytes": "registers a unit, bytes",
    "shared_limit": "shared memory a program",
    "shared_per_unit": "shared memory a unit",
    "compute_units": "compute units",
    "memory_gb": "memory, GB",
    "bandwidth_gbs": "memory bandwidth, GB/s",
    "l2_bytes": "L2, bytes",
    "peaks": "peaks, 10^12 a second",
    "clock_mhz": "clock, MHz",
    "fp32_lanes": "fp32 FMA a cycle, unit",
    "special_lanes": "exp2, ... a cycle, unit",
    "shared_bytes": "shared bytes a cycle, unit",
    "tensor_flops": "tensor FLOP a cycle, unit",
    "l2_bandwidth_gbs": "L2 bandwidth, GB/s",
    "memory_latency_ns": "memory latency, ns",
    "launch_us": "launch, us",
    "cores": "cores of a device",
    "sbuf_bytes": "SBUF a partition, bytes",
    "sbuf_reserved_bytes": "reserved of it, bytes",
    "psum_bytes": "PSUM a partition, bytes",
    "psum_bank_bytes": "PSUM bank, bytes",
    "stationary_columns": "stationary columns",
    "moving_columns": "moving columns",
    "tensor_tflops": "peaks, 10^12 FLOP/s",
    "fp32_passes": "passes of fp32 products",
    "issue_cycles": "least cycles",
    "gpsimd_start_cycles": "gpsimd start, cycles",
    "vector_speedup": "2-byte elements a cycle",
    "device_bandwidth_gbs": "device bandwidth, GB/s",
    "dma_engines": "DMA engines",
    "dma_engine_gbs": "DMA engine, GB/s",
    "nkibench_peaks": "peaks of NKIBench",
}


class ElementType(StrEnum):
    """Of a product's operands or of a row."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def bytes(self) -> int:
        """That one element takes in memory."""
        return {"32": 4, "16": 2}.get(self.value[-2:], 1)


def targets(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Chip, e.g. cuda:90.")
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="M,N,K|N",
            help="Suggest parameters: M,N,K for a matrix product, N for one row per program.",
        ),
    ] = None,
    dtype: Annotated[ElementType, typer.Option(help="Element type of --shape.")] = ElementType.FP16,
    whole_blocks: Annotated[
        bool,
        typer.Option(
            "--whole-blocks", help="The kernel stores through tensor descriptors or block pointers."
        ),
    ] = False,
    form: AsFormat = Format.TEXT,
) -> None:
    """List the supported chips.

    With TARGET, print that chip's figures and their sources.
    """
    if target is None:
        if shape is not None:
            raise InputError("--shape needs a target: parameters suit one chip")
        _list(form)
        return
    name = target.strip().lower()
    core = next((core for core in neuron_chips() if name in (core.id, core.arch)), None)
    if core is not None:
        _neuron(core, shape, form)
        return
    one = chip(name)
    extents = _extents(shape) if shape is not None else ()
    found = _recommended(one, extents, dtype, whole_blocks)
    if form is Format.JSON:
        emit_json({"target": dump(one), **found})
        return
    _show_figures(one)
    if extents:
        _show_recommended(extents, dtype, [*found.get("dot_configs", found.get("row_configs", ()))])


def _list(form: Format) -> None:
    chips = all_chips()
    if form is Format.JSON:
        emit_json({"targets": [dump(one) for one in (*chips, *neuron_chips())]})
        return
    table = Table("target", "chip", "shared memory a program", "warp size")
    for one in chips:
        table.add_row(one.id, one.label, f"{one.shared_limit // 1024} KiB", str(one.warp_size))
    OUT.print(table)
    cores = Table("target", "NeuronCore", "SBUF a partition", "PSUM a partition")
    for core in neuron_chips():
        kib = (f"{size // 1024} KiB" for size in (core.sbuf_bytes, core.psum_bytes))
        cores.add_row(core.id, core.label, *kib)
    OUT.print(cores)
    OUT.print("Kernels for NeuronCores are not compiled: they are simulated and estimated.")


def _neuron(one: NeuronChip, shape: str | None, form: Format) -> None:
    if shape is not None:
        raise InputError(f"--shape suggests parameters of Triton kernels, and {one.id} runs none")
    if form is Format.JSON:
        emit_json({"target": dump(one)})
        return
    head = f"{one.id}: {one.label}. Figures are of {one.chip}."
    OUT.print(fill(head, _COLUMNS))
    for name in one.figures:
        doubt = one.uncertain.get(name)
        source = one.sources[name] + (f". Uncertain: {doubt}" if doubt else "")
        _show_figure(name, getattr(one, name), source)


def _extents(shape: str) -> tuple[int, ...]:
    """(M, N, K) or (N,); raises InputError for anything else."""
    try:
        extents = tuple(int(part) for part in shape.replace("x", ",").split(","))
    except ValueError:
        extents = ()
    if len(extents) not in (1, 3) or min(extents) < 1:
        raise InputError(
            f"--shape {shape}: three numbers for a matrix product, M,N,K, or one for the length "
            "of a row, all at least 1"
        )
    return extents


def _recommended(
    one: Chip, extents: tuple[int, ...], dtype: ElementType, whole_blocks: bool
) -> Mapping[str, Any]:
    if len(extents) == 3:
        found = dot_configs(one, *extents, dtype.bytes, limit=_LIMIT, whole_blocks=whole_blocks)
        return {"shape": extents, "dtype": str(dtype), "dot_configs": dump(found)}
    if extents:
        rows = row_configs(one, extents[0], dtype.bytes)
        return {"shape": extents, "dtype": str(dtype), "row_configs": dump(rows)}
    return {}


def _show_figures(one: Chip) -> None:
    head = f"{one.id}: {one.label}. Chip-wide figures are of {one.chip}."
    OUT.print(fill(head, _COLUMNS))
    for name, value, source in _figures(one):
        _show_figure(name, value, source)


def _show_figure(name: str, value: object, source: str) -> None:
    line = f"  {_WORDS.get(name, name.replace('_', ' ')):<28}{_value_text(value)}"
    OUT.print(fill(line, _COLUMNS, subsequent_indent=" " * 30))
    indent = " " * 6
    told = fill(source, _COLUMNS, initial_indent=indent, subsequent_indent=indent)
    OUT.print(told, style="dim")


def _figures(one: Chip) -> Iterator[tuple[str, object, str]]:
    for name in one.figures:
        yield name, getattr(one, name), one.sources[name]
    if one.rates is not None:
        for name, source in one.rates.sources.items():
            yield name, getattr(one.rates, name), source
    if one.residency is not None:
        skipped = {"source", "shared_sizes"}
        kept = {f.name: getattr(one.residency, f.name) for f in fields(one.residency)}
        found = {n: v for n, v in kept.items() if n not in skipped and v is not None}
        yield "room of a unit", found, one.residency.source


def _value_text(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, Mapping):
        known = (
            f"{k.replace('_', ' ')} {_value_text(v)}" for k, v in value.items() if v is not None
        )
        return ", ".join(known) or "not known"
    if isinstance(value, int | float):
        return f"{value:,.0f}" if value == int(value) else f"{value:,}"
    return str(value)


def _show_recommended(
    extents: tuple[int, ...], dtype: str, configs: Sequence[Mapping[str, Any]]
) -> None:
    shape = " x ".join(map(str, extents))
    OUT.print(f"\nparameters for {shape} in {dtype}, to be tried in this order:")
    names = [name for name in configs[0] if configs[0][name] is not None]
    table = Table(*(name.replace("_", " ") for name in names))
    for config in configs:
        table.add_row(*(str(config[name]) for name in names))
    OUT.print(table)
    OUT.print("They fit the chip and suit the shape; only a measurement shows which is fastest.")
