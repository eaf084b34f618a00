"""The GPUs of a Ray cluster as devices: one actor each, which owns an ordinary local worker.

Placement, restarts, retries, queues and the transfer of files are Ray's.
"""

from tilewright.devices.cluster.address import ClusterAddress, is_cluster, parse_cluster
from tilewright.devices.cluster.connection import Cluster

__all__ = ["Cluster", "ClusterAddress", "is_cluster", "parse_cluster"]
