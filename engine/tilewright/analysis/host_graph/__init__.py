"""What a host function does with its tensors, in program order."""

from tilewright.analysis.host_graph.build import host_graph_of, launching_functions
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.roles import Role, roles_of

__all__ = [
    "HostGraph",
    "HostValue",
    "Origin",
    "Role",
    "Use",
    "UseKind",
    "host_graph_of",
    "launching_functions",
    "roles_of",
]
