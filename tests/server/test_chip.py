"""The chip that a document is for: told with its reason, changed for one file, offered first."""

from typing import Any

from conversation import KERNEL, Conversation

INTEL = KERNEL.format(engine="nothing").replace(
    "def dot(a, b, c):\n", "def dot(a, b, c):\n    assert a.device.type == 'xpu'\n"
)
LAUNCH_LINE = 18


async def _target(talk: Conversation) -> Any:
    return await talk.execute("tilewright.target", {"uri": talk.uri})


async def _optimizations(talk: Conversation) -> list[str]:
    actions = await talk.actions(LAUNCH_LINE, 4, only=["refactor"])
    return [action.title for action in actions if action.title.startswith("Optimize")]


async def test_it_follows_the_file_and_says_why(talk: Conversation) -> None:
    await talk.begin(device="interpreter", targets=["cuda:90", "hip:gfx942"])
    talk.open(text=INTEL)
    told = await _target(talk)
    assert (told["target"], told["origin"]) == ("xpu:bmg-g31", "file")
    assert told["why"] == 'the file\'s host code names "xpu", line 19'
    assert await _optimizations(talk) == [
        "Optimize for Intel XPU (xpu:bmg-g31)",
        "Optimize for NVIDIA (cuda:90)",
        "Optimize for AMD (hip:gfx942)",
    ]
    talk.replace(KERNEL.format(engine="nothing"))
    told = await _target(talk)
    assert (told["target"], told["origin"]) == ("cuda:90", "default")
    assert told["why"] == "no setting and no GPU here; the file names no device"


async def test_what_a_person_chose_for_a_file_goes_first(talk: Conversation) -> None:
    path = talk.folder / "kernel.py"
    chosen = {path.as_uri(): "xpu:pvc"}
    await talk.begin(device="interpreter", target="cuda:80", fileTargets=chosen)
    talk.open(text=INTEL)
    told = await _target(talk)
    assert (told["target"], told["why"]) == ("xpu:pvc", "chosen for this file")
    assert told["followed"] == "xpu:bmg-g31", "what it would be without the choice"
    assert (await _optimizations(talk))[0] == "Optimize for Intel XPU (xpu:pvc)"
    talk.open(text=INTEL, name="other.py")
    told = await _target(talk)
    assert told["target"] == "xpu:bmg-g31"
    assert told["why"].endswith("; the setting tilewright.target is cuda:80")


async def test_a_file_without_kernels_is_for_no_chip(talk: Conversation) -> None:
    await talk.begin(device="interpreter")
    talk.open(text="import torch\n\ntorch.xpu.synchronize()\n")
    assert await _target(talk) is None


async def test_a_spec_or_a_project_that_names_a_chip_is_heard(talk: Conversation) -> None:
    (talk.folder / "pyproject.toml").write_text('[tool.tilewright]\ntarget = "hip:gfx950"\n')
    await talk.begin(device="interpreter")
    talk.open("nothing")
    assert (await _target(talk))["target"] == "hip:gfx950"
    spec = "target: xpu:lnl\nentry: dot\ninputs:\n"
    spec += "".join(f"  {name}: {{shape: [N], dtype: float32}}\n" for name in "abc")
    spec += "ci:\n- params: [a, b, c]\n  dims: {N: 16}\n"
    (talk.folder / "kernel.yaml").write_text(spec)
    assert (await _target(talk))["why"] == (
        "the problem's spec names it; the project's [tool.tilewright] is hip:gfx950"
    )
