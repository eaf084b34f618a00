"""``tilewright.listTargets``: every chip, and what this machine has for it."""

import asyncio
from typing import Any

from tilewright_server.jobs.engine_job import environment
from tilewright_server.jobs.local_gpu import Toolchains, device_ids, toolchains_here
from tilewright_server.server import TilewrightServer

_HERE, _COMPILED, _ESTIMATED, _ELSEWHERE = _ORDER = ("gpu", "compiles", "estimates", "none")
_INTERPRETER, _SIMULATOR = "interpreter", "neuron-sim"
_UNTRUSTED = "this workspace is not trusted: nothing is compiled or run"


async def list_targets_command(server: TilewrightServer, *_: Any) -> list[dict[str, Any]]:
    """Every chip, those that are here first.

    ``here`` is the most that this machine has for it: ``gpu``, ``compiles``, ``estimates`` (by a
    cost model, without a compiler) or ``none``. ``gets`` lists what can be had of ``compile``,
    ``estimate``, ``check`` and ``measure``; ``lacks`` says what is missing, or is empty.
    """
    from tilewright.hardware.chips import all_chips, neuron_chips

    machine = await server.chip.machine()
    tools, devices = await _here(server)
    lacks = "" if server.settings.trusted else _UNTRUSTED
    chips = [_gpu(chip, machine, tools, devices) for chip in all_chips()]
    chips += [_neuron(chip, devices) for chip in neuron_chips()]
    found = [{**chip, "lacks": lacks or chip["lacks"]} for chip in chips]
    return sorted(found, key=lambda one: _ORDER.index(one["here"]))


async def _here(server: TilewrightServer) -> tuple[Toolchains, tuple[str, ...]]:
    """Compilers and devices; none in a workspace that is not trusted, where nothing is started."""
    if not server.settings.trusted:
        return Toolchains(), ()
    command, env = server.engine_command, environment(server.settings)
    return await asyncio.gather(toolchains_here(command, env), device_ids(command, env))


def _gpu(
    chip: Any, machine: str | None, tools: Toolchains, devices: tuple[str, ...]
) -> dict[str, Any]:
    is_here, compiles = chip.id == machine, chip.id in tools.compiled
    gets = []
    if compiles:
        gets += ["compile"] + (["estimate"] if chip.residency is not None else [])
    if is_here or _INTERPRETER in devices:
        gets.append("check")
    if is_here:
        gets.append("measure")
    missing = tools.missing.get(chip.id.partition(":")[0], "")
    lacks = "" if is_here else "no GPU of this kind here: speed is not measured"
    if not compiles:
        lacks = missing or "no compiler for it on this machine"
    here = _HERE if is_here else _COMPILED if compiles else _ELSEWHERE
    return {"target": chip.id, "label": chip.label, "here": here, "gets": gets, "lacks": lacks}


def _neuron(chip: Any, devices: tuple[str, ...]) -> dict[str, Any]:
    """The cost model reads the text, so an estimate needs nothing of this machine."""
    simulated = _SIMULATOR in devices
    lacks = "" if simulated else "the simulator needs an interpreter with numpy; "
    return {
        "target": chip.id,
        "label": chip.label,
        "here": _ESTIMATED,
        "gets": ["estimate", *(["check"] if simulated else [])],
        "lacks": f"{lacks}NKI kernels are not compiled or measured here",
    }
