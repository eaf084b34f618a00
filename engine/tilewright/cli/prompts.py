"""``--show-prompts``: what would be sent to a model, printed."""

from tilewright.cli.output import OUT, StreamFormat, answer
from tilewright.devices.model import Device
from tilewright.strategies.first_prompts import dump_prompt, first_prompts
from tilewright.strategies.optimize import OptimizeRequest

_NOTE = (
    "nothing was sent; these prompts are about the original text: later ones show what rewrites "
    "and earlier stages made of it, and the analyzer's reply may add stages"
)


def show_prompts(request: OptimizeRequest, device: Device, form: StreamFormat) -> None:
    """Print the first prompt of each role and stage."""
    shown = [dump_prompt(one) for one in first_prompts(request, device)]
    answer({"prompts": shown, "note": _NOTE}, form, _print)


def _print(value: dict[str, object]) -> None:
    prompts = value["prompts"]
    assert isinstance(prompts, list)
    for number, one in enumerate(prompts, 1):
        stage = f", stage {one['stage']}" if one["stage"] else ""
        OUT.rule(f"prompt {number} of {len(prompts)}: {one['role']}{stage}", align="left")
        for message in one["messages"]:
            OUT.print(f"[{message['role']} message]", markup=False)
            OUT.print(message["text"], markup=False)
        sizes = ", ".join(f"{s['name'].lower()} {s['tokens']:,}" for s in one["sections"])
        OUT.print(f"about {one['tokens']:,} tokens: {sizes}", markup=False)
        for cut in one["cut"]:
            OUT.print(f"left out: {cut}", markup=False)
    OUT.print(f"note: {value['note']}", markup=False)
