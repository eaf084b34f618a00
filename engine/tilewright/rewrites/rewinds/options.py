"""Rewinds of launch options: of another backend, and given twice."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites.calls import append_keywords
from tilewright.rewrites.configs import config_calls
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.rewinds.model import Rewind, Rewound
from tilewright.source.model import Kernel, Launch, Module
from tilewright.targets.model import Target

_FOREIGN = (
    ("grf_mode", '"256"', Target("cuda", "90")),
    ("waves_per_eu", "2", Target("xpu", "bmg-g31")),
    ("maxnreg", "128", Target("hip", "gfx942")),
)


def _foreign(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    calls = config_calls(module, kernel) or []
    for option, value, target in _FOREIGN:
        if kernel.parameter(option) is not None:
            continue
        known = replace(context, target=target)
        for launch in module.launches_of(kernel.name):
            if option not in launch.options:
                text, line = _appended(module, launch, f"{option}={value}")
                yield Rewound(text, line, known, f"{option} at a launch")
        for call in calls[:1]:
            body = call.args[0]
            if isinstance(body, ast.Dict) and body.values and option not in _keys(body, call):
                yield _in_config(module, body, option, value, known)


def _keys(body: ast.Dict, call: ast.Call) -> set[object]:
    keys: set[object] = {k.value for k in body.keys if isinstance(k, ast.Constant)}
    return keys | {k.arg for k in call.keywords}


def _appended(module: Module, launch: Launch, words: str) -> tuple[str, int]:
    """The text with one more keyword at a launch, and the keyword's line."""
    patch = Patch(module)
    append_keywords(patch, launch.node, [words])
    text = patch.apply()
    place = text.index(words, patch.span(launch.node.func)[1])
    return text, 1 + text.count("\n", 0, place)


def _in_config(
    module: Module, body: ast.Dict, option: str, value: str, context: AnalysisContext
) -> Rewound:
    patch = Patch(module)
    end = patch.span(body.values[-1])[1]
    patch.splice(end, end, f', "{option}": {value}')
    line = patch.new_line(end)
    return Rewound(patch.apply(), line, context, f"{option} in a configuration")


def _duplicate(module: Module, kernel: Kernel, context: AnalysisContext) -> Iterator[Rewound]:
    configs = kernel.autotune.configs if kernel.autotune else None
    if not configs:
        return
    tuned: dict[str, object] = {}
    for config in configs:
        tuned.update({**config.values, **config.options})
    for launch in module.launches_of(kernel.name):
        for name, value in tuned.items():
            if name not in launch.arguments and name not in launch.options:
                text, line = _appended(module, launch, f"{name}={value!r}")
                yield Rewound(text, line, context, "option" if "num_" in name else "block")


REWINDS = (
    Rewind(
        issue="device_option_on_wrong_backend",
        name="rewind_drop_foreign_option",
        rewrite="drop_foreign_option",
        applies="Every launch and one configuration of every kernel, with an option that the "
        "target's backend does not know.",
        apply=_foreign,
    ),
    Rewind(
        issue="autotune_duplicate_params",
        name="rewind_drop_duplicate_argument",
        rewrite="drop_duplicate_argument",
        applies="Every launch of a kernel with literal configurations, with each tuned parameter "
        "passed as well.",
        apply=_duplicate,
    ),
)
