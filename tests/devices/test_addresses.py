"""Ids of devices on other hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.devices.model import DeviceError
from tilewright.devices.remote import Address, is_address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ssh://gpu1", Address("gpu1")),
        ("ssh://gpu1/", Address("gpu1")),
        ("ssh://me@gpu1.lab:2222#cuda:0", Address("gpu1.lab", "me", 2222, None, "cuda:0")),
        ("ssh://gpu1/opt/env/bin/python", Address("gpu1", python="/opt/env/bin/python")),
        ("ssh://gpu1/~/env/bin/py#xpu:1", Address("gpu1", None, None, "~/env/bin/py", "xpu:1")),
        ("ssh://[fe80::1]:22#interpreter", Address("fe80::1", None, 22, None, "interpreter")),
    ],
)  # fmt: skip
def test_an_id_says_host_interpreter_and_device(text: str, address: Address) -> None:
    assert is_address(text)
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["ssh://", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://a:99999", "ssh://a#", "ssh://a;b", "ssh://a@b@c"],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_the_syntax(text: str) -> None:
    with pytest.raises(DeviceError, match=r"names no host; write ssh://\[user@\]host"):
        parse_address(text)


def test_an_id_of_this_machine_is_no_address() -> None:
    assert not is_address("cuda:0")


_names = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,10}", fullmatch=True)
_paths = st.none() | st.from_regex(r"(~)?(/[A-Za-z0-9._-]{1,8}){1,3}", fullmatch=True)


@given(_names, st.none() | _names, st.none() | st.integers(1, 65535), _paths)
def test_an_id_made_from_an_address_means_it(
    host: str, user: str | None, port: int | None, python: str | None
) -> None:
    address = Address(host, user, port, python, "cuda:3")
    assert parse_address(address.device_id("cuda:3")) == address


def test_the_shell_there_reads_the_interpreters_path_as_one_word() -> None:
    assert Address("a").interpreter == "python3"
    assert Address("a", python="/with space/python").interpreter == "'/with space/python'"
    assert Address("a", python="~/my env/python").interpreter == "~/'my env/python'"
