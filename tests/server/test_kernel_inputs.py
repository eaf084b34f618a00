"""A kernel without inputs gets a drafted spec or captured launches; its spec is found and left."""

from pathlib import Path
from typing import Any

from conversation import KERNEL, NAME_LINE, Conversation, capabilities
from lsprotocol import types
from pygls import uris

INPUTS = "refactor.inputs"


def _showing() -> types.ClientCapabilities:
    window = types.WindowClientCapabilities(
        work_done_progress=True,
        show_message=types.ShowMessageRequestClientCapabilities(),
        show_document=types.ShowDocumentClientCapabilities(support=True),
    )
    return capabilities(window=window)


def _chooses(talk: Conversation, words: str) -> list[list[str]]:
    """Press the first button that has these words; the buttons of each question."""
    offered: list[list[str]] = []

    @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def answer(params: types.ShowMessageRequestParams) -> Any:
        offered.append([one.title for one in params.actions or ()])
        found = next((title for title in offered[-1] if words in title), None)
        return types.MessageActionItem(found) if found else None

    return offered


async def test_a_spec_is_drafted_with_its_gaps_marked(talk: Conversation) -> None:
    await talk.begin(_showing())
    text = KERNEL.format(engine="improve").replace(
        "def dot(a, b, c):\n", "def dot(a, b, c):\n    M, K = a.shape\n"
    )
    talk.open(text=text)
    titles = [action.title for action in await talk.actions(NAME_LINE, 4, only=[INPUTS])]
    assert titles == ["Add a spec", "Capture launches"]
    answer = await talk.execute("tilewright.addSpec", {"uri": talk.uri, "kernel": "dot_kernel"})
    place = talk.folder / "kernel.yaml"
    spec = place.read_text()
    assert "entry: dot\n" in spec
    assert "a: {shape: [M, K], dtype: inherit}" in spec
    assert "b: {shape: [FILL_IN], dtype: inherit}" in spec
    (opened,) = talk.client.shown_documents
    assert opened.uri == answer["uri"] == uris.from_fs_path(str(place))
    assert opened.selection is not None
    first = spec.splitlines()[opened.selection.start.line]
    assert first[opened.selection.start.character :].startswith("FILL_IN")
    assert not await talk.actions(NAME_LINE, 4, only=[INPUTS]), "there is one now"
    (fault,) = talk.client.diagnostics[answer["uri"]]
    assert "have FILL_IN in the place of what only you know" in fault.message
    place.write_text(spec.replace("dtype: FILL_IN", "dtype: float32").replace("FILL_IN", "64"))
    again = await talk.execute("tilewright.addSpec", {"uri": talk.uri, "kernel": "dot_kernel"})
    assert again["reason"].startswith("there is a spec already")


async def test_a_kernel_that_nothing_launches_gets_no_spec(talk: Conversation) -> None:
    await talk.begin()
    text = KERNEL.format(engine="improve")
    talk.open(text=text[: text.index("def dot(a")])
    answer = await talk.execute("tilewright.addSpec", {"uri": talk.uri, "kernel": "dot_kernel"})
    assert "no function of this file launches dot_kernel" in answer["reason"]
    assert not (talk.folder / "kernel.yaml").exists()


async def test_launches_of_a_test_are_captured_and_used(talk: Conversation) -> None:
    await talk.begin(_showing(), device="interpreter")
    offered = _chooses(talk, "test_dot.py")
    (talk.folder / "test_dot.py").write_text("from kernel import dot\n")
    (talk.folder / "test_other.py").write_text("import other\n")
    talk.open(text=f"{KERNEL.format(engine='improve')}\nif __name__ == '__main__':\n    dot()\n")
    found = await talk.execute("tilewright.captureCommands", {"uri": talk.uri})
    assert found == [
        f"python {talk.folder}/kernel.py",
        f"python -m pytest {talk.folder}/test_dot.py",
    ]
    await talk.execute("tilewright.capture", {"uri": talk.uri})
    job = await talk.end_of_job()
    assert offered == [found]
    assert (job.kind, job.state) == ("capture", "done")
    assert job.message.startswith("3 launches recorded of dot_kernel"), job.message
    assert "--interpret" in job.result.arguments
    assert job.result.arguments[-2:] == ["pytest", f"{talk.folder}/test_dot.py"]
    assert job.result.arguments[2] == str(talk.folder / ".tilewright" / "launches")


async def test_a_command_without_launches_of_the_file_is_said_to_have_none(
    talk: Conversation,
) -> None:
    await talk.begin()
    talk.open("improve")
    await talk.execute("tilewright.capture", {"uri": talk.uri, "command": "python nothing.py"})
    job = await talk.end_of_job()
    assert job.state == "failed"
    assert "no launch was recorded: nothing launched" in job.message
    assert "ended with exit code 3" in job.message


async def test_nothing_is_captured_in_a_folder_that_is_not_trusted(talk: Conversation) -> None:
    await talk.begin(trusted=False)
    talk.open("improve")
    titles = [action.title for action in await talk.actions(NAME_LINE, 4, only=[INPUTS])]
    assert titles == ["Add a spec"]
    answer = await talk.execute("tilewright.capture", {"uri": talk.uri, "command": "python x.py"})
    assert "not trusted" in answer["reason"]


async def test_a_spec_in_a_tree_of_its_own_leads_to_every_file_that_finds_it(
    talk: Conversation,
) -> None:
    spec = talk.folder / "problems" / "specs" / "level1" / "kernel.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text(
        "entry: dot\ninputs:\n  a: {shape: [N], dtype: float32}\nci:\n  - params: [a]\n"
        "    dims: {N: 32}\n"
    )
    texts = {"a/level1": "def other(a): ...\ndef dot(a): ...\n", "b/level1": "def dot(a): ...\n"}
    texts["b/level2"] = "def dot(a): ...\n"
    for name, text in texts.items():
        file = talk.folder / name / "kernel.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    await talk.begin()
    there = str(uris.from_fs_path(str(spec)))
    found = await talk.execute("tilewright.counterpart", {"uri": there})
    kernels = [uris.from_fs_path(str(talk.folder / f"{n}/level1/kernel.py")) for n in "ab"]
    others = [{"uri": kernels[1], "range": [0, 4, 0, 7]}]
    assert found == {"uri": kernels[0], "range": [1, 4, 1, 7], "others": others}
    talk.open(text=texts["a/level1"], name="a/level1/kernel.py")
    back = await talk.execute("tilewright.counterpart", {"uri": talk.uri})
    assert back == {"uri": there, "range": [0, 7, 0, 10]}


async def test_a_spec_and_its_entry_point_lead_to_each_other(
    talk: Conversation, tmp_path: Path
) -> None:
    spec = talk.folder / "kernel.yaml"
    spec.write_text(
        "name: dot\nentry: dot\ninputs:\n"
        "  a: {shape: [N, N], dtype: float32}\n  b: {shape: [N, N], dtype: float32}\n"
        "  c: {shape: [N, N], dtype: float32}\n"
        "ci:\n  - params: [a, b, c]\n    dims: {N: 32}\n"
    )
    await talk.begin()
    talk.open("improve")
    there = await talk.execute("tilewright.counterpart", {"uri": talk.uri})
    assert there == {"uri": uris.from_fs_path(str(spec)), "range": [1, 7, 1, 10]}
    back = await talk.execute("tilewright.counterpart", {"uri": there["uri"]})
    assert back["uri"] == talk.uri
    line, start, _, end = back["range"]
    assert talk.text.splitlines()[line][start:end] == "dot"
    shared = talk.folder / "shared.yaml"
    shared.write_text("entry: dot\nfiles:\n  - 'none.py'  # not there\n  - kernel.py\n")
    led = await talk.execute("tilewright.counterpart", {"uri": str(uris.from_fs_path(str(shared)))})
    assert led == back
    lonely = {"uri": uris.from_fs_path(str(tmp_path / "lonely.yaml"))}
    assert await talk.execute("tilewright.counterpart", lonely) is None
