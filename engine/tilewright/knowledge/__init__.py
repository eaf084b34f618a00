"""What is known of tile kernels, as data: issue types, patterns, constraints, and their stages.

The YAML lies in the repository's ``knowledge/`` and travels inside the wheel.
"""

from tilewright.knowledge.base import (
    all_constraints,
    all_patterns,
    constraints,
    issue_type,
    option_backends,
    patterns_of,
    taxonomy,
)
from tilewright.knowledge.explain import explain
from tilewright.knowledge.files import KnowledgeError, knowledge_root
from tilewright.knowledge.model import AppliesTo, Check, Constraint, Example, IssueType
from tilewright.knowledge.patterns import Pattern, Precondition
from tilewright.knowledge.stages import Stage

__all__ = [
    "AppliesTo",
    "Check",
    "Constraint",
    "Example",
    "IssueType",
    "KnowledgeError",
    "Pattern",
    "Precondition",
    "Stage",
    "all_constraints",
    "all_patterns",
    "constraints",
    "explain",
    "issue_type",
    "knowledge_root",
    "option_backends",
    "patterns_of",
    "taxonomy",
]
