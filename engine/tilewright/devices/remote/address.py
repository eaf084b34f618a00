"""``ssh://[user@]host[:port][/path/to/python][#device]`` as a device's id."""

import re
import shlex
from dataclasses import dataclass

from tilewright.devices.model import DeviceError

SCHEME = "ssh://"
SYNTAX = "ssh://[user@]host[:port][/path/to/python][#device]"
_FORM = re.compile(
    r"ssh://(?:(?P<user>[\w.][\w.+-]*)@)?(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[\w][\w.-]*)"
    r"(?::(?P<port>\d{1,5}))?(?P<python>/[^#]*)?(?:#(?P<device>[\w:]+))?"
)


@dataclass(frozen=True)
class Address:
    """A host, the interpreter to use there, and which of its devices.

    Attributes:
        host: a name that ssh knows, an alias of the user's configuration too.
        port: None as ssh has it.
        python: its path, absolute or ``~/…``; None: ``python3`` of the PATH there.
        device: "interpreter", "cuda:0"; empty where none was named.
    """

    host: str
    user: str | None = None
    port: int | None = None
    python: str | None = None
    device: str = ""

    @property
    def place(self) -> str:
        """The address without its device: what shares one connection."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        path = f"/{self.python.lstrip('/')}" if self.python else ""
        return f"{SCHEME}{user}{host}{port}{path}"

    @property
    def destination(self) -> tuple[str, ...]:
        """What names the host on ssh's command line."""
        user = ("-l", self.user) if self.user else ()
        port = ("-p", str(self.port)) if self.port else ()
        return (*user, *port, "--", self.host)

    @property
    def interpreter(self) -> str:
        """The interpreter as the shell there is to read it."""
        if self.python is None:
            return "python3"
        if self.python.startswith("~/"):
            return f"~/{shlex.quote(self.python[2:])}"
        return shlex.quote(self.python)

    def device_id(self, device: str) -> str:
        """The id of one of the host's devices."""
        return f"{self.place}#{device}"


def is_address(text: str) -> bool:
    """Whether a device's id means another host."""
    return text.startswith(SCHEME)


def parse_address(text: str) -> Address:
    """Read an id; raises DeviceError for one that is no address."""
    found = _FORM.fullmatch(text)
    if found is None or int(found["port"] or 1) > 65535:
        raise DeviceError(f"{text!r} names no host; write {SYNTAX}")
    python = found["python"] or None
    if python is not None and python.startswith("/~/"):
        python = python[1:]
    return Address(
        found["host"].strip("[]"),
        found["user"],
        int(found["port"]) if found["port"] else None,
        None if python == "/" else python,
        found["device"] or "",
    )
