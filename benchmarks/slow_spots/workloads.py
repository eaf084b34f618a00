"""Inputs for every slow case of ``tests/realbugs``, or the reason why one is not run."""

from __future__ import annotations

from collections.abc import Mapping

import workloads_blind
import workloads_blind2
import workloads_blind3
import workloads_open
from reported_cases import Folder, Kind, cases
from workload import Workload

WORKLOADS: dict[str, Workload] = {
    **workloads_open.WORKLOADS,
    **workloads_blind.WORKLOADS,
    **workloads_blind2.WORKLOADS,
    **workloads_blind3.WORKLOADS,
}
NOT_RUN: Mapping[str, str] = {
    "triton/one_block_for_an_image": (
        "a tile of 262,144 elements in four warps takes the compiler over five minutes"
    ),
    **{
        case.name: "no inputs are written for the cases of the last two blind sets"
        for case in cases()
        if case.folder in (Folder.FOURTH_BLIND, Folder.SIXTH_BLIND) and case.entry.kind is Kind.SLOW
    },
}
"""The cases that are not timed, each with the reason."""
