"""What is known of tile kernels, as data: issue types, constraints, and the stages they belong to.

The YAML lies in the repository's ``knowledge/`` and travels inside the wheel.
"""

from tilewright.knowledge.base import all_constraints, constraints, issue_type, taxonomy
from tilewright.knowledge.explain import explain
from tilewright.knowledge.files import KnowledgeError, knowledge_root
from tilewright.knowledge.model import AppliesTo, Check, Constraint, Example, IssueType
from tilewright.knowledge.schemas import json_schema
from tilewright.knowledge.stages import Stage

__all__ = [
    "AppliesTo",
    "Check",
    "Constraint",
    "Example",
    "IssueType",
    "KnowledgeError",
    "Stage",
    "all_constraints",
    "constraints",
    "explain",
    "issue_type",
    "json_schema",
    "knowledge_root",
    "taxonomy",
]
