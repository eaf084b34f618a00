"""The certificate shown in the documentation is a real one, and says what one says today."""

import json
from pathlib import Path
from typing import Any

from tilewright.certificates.files import parse_certificate, unpacked
from tilewright.certificates.model import CertificateFile
from tilewright.cli.recheck import EXITS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")


def example() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PAGE.partition("```json\n")[2].partition("```")[0])
    return found


def test_the_example_is_whole_and_was_not_altered() -> None:
    certificate = parse_certificate(example(), "docs/certificates.md")
    assert certificate.level == "faster"
    assert certificate.unverified
    assert set(example()) <= set(CertificateFile.__dataclass_fields__)


def test_the_example_is_against_the_example_kernel() -> None:
    original = parse_certificate(example(), "").original
    assert unpacked(str(original.packed)) == (ROOT / "examples" / "softmax.py").read_text()


def test_every_field_and_every_exit_code_is_explained() -> None:
    fields = set(CertificateFile.__dataclass_fields__) - {"created", "tilewright"}
    assert not [name for name in fields if f"`{name}`" not in PAGE]
    for outcome, code in EXITS.items():
        if "anew" not in outcome.value:
            assert f"| {outcome.value} | {int(code)} |" in PAGE
