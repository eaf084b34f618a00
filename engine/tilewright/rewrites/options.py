"""Rewrites of compiler options: where they are missing, given twice, or of another backend."""

import ast

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.knowledge.base import option_backends
from tilewright.rewrites.calls import append_keywords, remove_dict_keys, remove_keywords
from tilewright.rewrites.configs import config_calls
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.grid import meta_keys, written_grid
from tilewright.rewrites.model import Numerics, Refusal, RefusedError, accepted, rewrite
from tilewright.rewrites.rows import warps_for_row
from tilewright.rewrites.scope import argument_facts, kernel_of
from tilewright.rewrites.tiles import TileKind, Tunable, coverage, tunable
from tilewright.source.model import Kernel, Launch, Module

DEFAULT_WARPS = 4
_LARGE_TILE = 128 * 128


def _launch_of(module: Module, issue: Issue, kernel: Kernel) -> Launch:
    """The launch an issue lies on, or the only one."""
    launches = module.launches_of(kernel.name)
    touched = [launch for launch in launches if launch.range.overlaps(issue.range)]
    if len(touched) == 1:
        return touched[0]
    if len(launches) == 1:
        return launches[0]
    raise RefusedError(
        f"{kernel.name} has {len(launches)} launches and the issue is at none of them"
    )


@rewrite("autotune_duplicate_params", "Let the autotuner alone pass its parameters", Numerics.EXACT)
def drop_duplicate_argument(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = _issue_kernel(module, issue)
    configs = kernel.autotune.configs if kernel and kernel.autotune else None
    if kernel is None or configs is None:
        raise RefusedError("the kernel's autotune configurations are not written as literals")
    launch = _launch_of(module, issue, kernel)
    tuned = {name for config in configs for name in (*config.values, *config.options)}
    passed = {k.arg for k in launch.node.keywords if k.arg in tuned}
    if not passed:
        raise RefusedError("the launch passes no tuned parameter by keyword")
    grid = written_grid(module, launch)
    followed = set() if isinstance(grid, Refusal) else _followed(grid.axes, grid.meta)
    for name in sorted(passed & coverage(kernel, module)):
        if name not in followed:
            raise RefusedError(
                f"the grid does not read {name} from META, so it would not follow it"
            )
    patch = Patch(module)
    remove_keywords(patch, launch.node, {name for name in passed if name})
    return patch.apply()


def _followed(axes: tuple[ast.expr, ...], meta: str | None) -> set[str]:
    return {key for axis in axes for key in meta_keys(axis, meta)}


def _issue_kernel(module: Module, issue: Issue) -> Kernel | None:
    """The kernel an issue names, lies in, or whose launch it lies on."""
    found = kernel_of(module, issue)
    if found is not None:
        return found
    names = [k.kernel for k in module.launches if k.range.overlaps(issue.range)]
    return module.kernel(names[0]) if names else None


@rewrite("missing_grf_mode", "Ask for 256 registers a thread", Numerics.EXACT)
def large_registers(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = _issue_kernel(module, issue)
    if kernel is None:
        raise RefusedError("the issue names no kernel of this file")
    if context.target is None or context.target.backend != "xpu":
        raise RefusedError("grf_mode is an option of the Intel backend, and the target is another")
    # Triton for Intel renamed the modes with 3.6.
    old = context.triton_version is not None and context.triton_version < (3, 6)
    return _add_option(module, issue, kernel, "grf_mode", '"large"' if old else '"256"')


def _add_option(module: Module, issue: Issue, kernel: Kernel, option: str, value: str) -> str:
    patch = Patch(module)
    if kernel.autotune is not None:
        calls = config_calls(module, kernel)
        if calls is None:
            raise RefusedError(
                "the autotune configurations are not a literal list of triton.Config"
            )
        missing = [c for c in calls if option not in patch.source(c)]
        if not missing:
            raise RefusedError(f"every configuration states {option} already")
        for call in missing:
            body = call.args[0]
            assert isinstance(body, ast.Dict)
            _add_key(patch, body, option, value)
        return patch.apply()
    launch = _launch_of(module, issue, kernel)
    if option in launch.options or not launch.is_complete:
        raise RefusedError(f"the launch states {option} already, or hides arguments behind **")
    append_keywords(patch, launch.node, [f"{option}={value}"])
    patch.fold(launch.node)
    return patch.apply()


def _add_key(patch: Patch, node: ast.Dict, key: str, value: str) -> None:
    if node.values:
        end = patch.span(node.values[-1])[1]
        patch.splice(end, end, f', "{key}": {value}')
    else:
        start, end = patch.span(node)
        patch.splice(start, end, f'{{"{key}": {value}}}')


@rewrite("device_option_on_wrong_backend", "Remove the option of another backend", Numerics.EXACT)
def drop_foreign_option(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = _issue_kernel(module, issue)
    if kernel is None or context.target is None:
        raise RefusedError("there is no target to judge the options by")
    backend = context.target.backend
    foreign = {n for n, homes in option_backends().items() if backend not in homes}
    foreign -= {p.name for p in kernel.parameters}
    patch = Patch(module)
    for launch in module.launches_of(kernel.name):
        remove_keywords(patch, launch.node, foreign)
    for call in config_calls(module, kernel) or []:
        remove_keywords(patch, call, foreign)
        body = call.args[0]
        assert isinstance(body, ast.Dict)
        remove_dict_keys(patch, body, foreign)
    text = patch.apply()
    if text == module.text:
        raise RefusedError("no option of another backend is written as a literal here")
    return text


@rewrite("suboptimal_warps", "State num_warps for this tile", Numerics.REASSOCIATING)
def state_warps(module: Module, issue: Issue, context: AnalysisContext) -> str:
    kernel = _issue_kernel(module, issue)
    if kernel is None:
        raise RefusedError("the issue names no kernel of this file")
    if kernel.autotune is not None:
        raise RefusedError("the kernel is autotuned: its configurations state the warps")
    found = accepted(tunable(module, kernel))
    warps = _warps(found, context)
    if warps is None:
        raise RefusedError("the size of the tile is not known")
    if warps == DEFAULT_WARPS:
        raise RefusedError(f"{DEFAULT_WARPS} warps, the default, suit this tile")
    return _add_option(module, issue, kernel, "num_warps", str(warps))


def _warps(found: Tunable, context: AnalysisContext) -> int | None:
    sizes: dict[str, int] = {}
    for role, name in found.roles.items():
        known = [f.value for f in argument_facts(context, found.kernel, name)]
        captured = [v for v in known if type(v) is int]
        value = found.values.get(name) or (max(captured) if captured else None)
        if value is not None:
            sizes[role] = value
    if found.kind is TileKind.DOT:
        if "m" not in sizes or "n" not in sizes:
            return None
        return 8 if sizes["m"] * sizes["n"] >= _LARGE_TILE else 4
    size = sizes.get("row") or sizes.get("block")
    return None if size is None else warps_for_row(size)
