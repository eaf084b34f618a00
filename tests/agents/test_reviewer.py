"""The reviewer's prompt shows the file with numbers; its replies give a module and named faults."""

import pytest

from tilewright.agents import reviewer
from tilewright.agents.model import Unusable
from tilewright.agents.reviewer import MOST_CALLS, NamedFault, Review
from tilewright.models.model import Role

MODULE = "import torch\n\n\ndef reference_f(x):\n    return x\n"
FAULTS = '```json\n{"faults": [{"function": "f", "line": 3, "why": "The mask\\nis of rows."}]}\n```'


def test_the_prompt_shows_numbered_lines_and_names_the_functions() -> None:
    prompt = reviewer.build("import torch\n\ndef f(x):\n    ...\n", ["f", "C.apply"])
    system, user = prompt.messages()
    assert prompt.role is Role.REVIEWER
    assert f"at most {MOST_CALLS} dictionaries" in system.text
    assert "3 | def f(x):" in user.text
    assert "`f`, `C.apply`" in user.text


def test_a_reply_gives_a_module_and_faults() -> None:
    found = reviewer.parse(f"The mask is wrong.\n```python\n{MODULE}```\n{FAULTS}\n")
    assert isinstance(found, Review)
    assert found.code.strip() == MODULE.strip()
    assert found.faults == (NamedFault("f", 3, "The mask is of rows."),)


@pytest.mark.parametrize(
    "faults",
    [
        "",
        '```json\n{"faults": []}\n```',
        '```json\n{"faults": "none"}\n```',
        '```json\n{"faults": [{"function": "f", "line": "3", "why": "x"}, 7]}\n```',
    ],
)
def test_faults_of_another_form_are_none(faults: str) -> None:
    found = reviewer.parse(f"```python\n{MODULE}```\n{faults}\n")
    assert isinstance(found, Review)
    assert found.faults == ()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I find nothing.", "no answer"),
        ("```python\ndef reference_f(x:\n```", "cannot be parsed"),
        ("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "no module"),
    ],
)
def test_a_reply_without_a_module_is_of_no_use(reply: str, message: str) -> None:
    found = reviewer.parse(reply)
    assert isinstance(found, Unusable)
    assert message in found.message
