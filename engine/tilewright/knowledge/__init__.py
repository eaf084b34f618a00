"""What is known of tile kernels, as data: issue types, patterns, constraints, and their stages.

The YAML lies in the repository's ``knowledge/`` and travels inside the wheel.
"""
