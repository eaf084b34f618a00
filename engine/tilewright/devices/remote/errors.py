"""Why there is no worker on another host, and the way out: from what ssh and shells say."""

import re

from tilewright.devices.model import DeviceError
from tilewright.devices.remote.address import Address

_SSH_FAILED = 255
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_CAUSES = (
    (
        r"host key verification failed|host key (?:for .* )?has changed|remote host identification",
        "its host key is not one that you have accepted",
        "run `{ssh} true` once, compare the key and accept it",
    ),
    (
        r"permission denied|too many authentication failures|no supported authentication",
        "it does not let you in without a question",
        "make `{ssh} true` work without typing anything (ssh-agent, ssh-copy-id), then try again",
    ),
    (
        r"could not resolve hostname|name or service not known",
        "there is no host of that name",
        "check the name, or add it to ~/.ssh/config",
    ),
    (
        r"connection refused|timed out|no route to host|network is unreachable|connection closed|"
        r"connection reset|kex_exchange",
        "it does not answer",
        "see that it is on and that `{ssh} true` works",
    ),
    (
        r"bad configuration option|bad owner or permissions",
        "ssh does not take its configuration",
        "fix ~/.ssh/config until `{ssh} true` works",
    ),
)


def ssh_command(address: Address) -> str:
    """What a person types to see for themselves."""
    port = f"-p {address.port} " if address.port else ""
    user = f"{address.user}@" if address.user else ""
    return f"ssh {port}{user}{address.host}"


def no_ssh() -> DeviceError:
    """There is no ``ssh`` program."""
    return DeviceError(
        "there is no `ssh` here to reach another host with; install OpenSSH's client "
        "(apt-get install openssh-client)"
    )


def refused(address: Address, code: int | None, said: str) -> DeviceError:
    """What became of an attempt that ended with ``code`` after saying ``said`` on stderr."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if code == _SSH_FAILED:
        return _from_ssh(address, said, last)
    if code in (_NOT_FOUND, _NOT_EXECUTABLE):
        return DeviceError(
            f"{address.place}: there is no {address.python or 'python3'} to run there"
            f"{_quoted(last)}; name one that has torch and triton: "
            f"ssh://{address.host}/path/to/python"
        )
    missing = re.search(r"No module named '(?:torch|triton|numpy)'", last)
    if missing:
        return lacks(address, address.python or "python3", missing[0])
    if code is not None and code < 0:
        why = "ssh was ended before a worker there was ready"
    else:
        why = last or f"it ended with exit code {code} and without a word"
    return DeviceError(f"{address.place}: no worker could be started there: {why}")


def lacks(address: Address, python: str, reason: str) -> DeviceError:
    """The interpreter there cannot import what a worker needs."""
    return DeviceError(
        f"{address.place}: {python} cannot run kernels: {reason}; pip install torch triton there, "
        f"or name an interpreter that has them: ssh://{address.host}/path/to/python"
    )


def _from_ssh(address: Address, said: str, last: str) -> DeviceError:
    for pattern, what, way_out in _CAUSES:
        if re.search(pattern, said, re.IGNORECASE):
            out = way_out.format(ssh=ssh_command(address))
            return DeviceError(f"{address.place}: {what}{_quoted(last)}; {out}")
    return DeviceError(
        f"{address.place}: ssh did not get there{_quoted(last)}; see that "
        f"`{ssh_command(address)} true` works"
    )


def _quoted(line: str) -> str:
    return f" ({line})" if line else ""
