"""Calls of host functions on drafted inputs."""
