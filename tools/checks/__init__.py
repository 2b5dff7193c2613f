"""Rules of this repository that no linter knows. Each check returns findings as `path:line: what is wrong`."""

from pathlib import Path

from checks.addresses import find_addresses
from checks.documented_names import (
    find_decision_faults,
    find_documented_names,
    find_glossary_faults,
)
from checks.language import find_language
from checks.locks import find_lock_faults
from checks.portable import find_unportable
from checks.sources import kept_trees
from checks.structure import find_class_names, find_cycles
from checks.subjects import find_subjects
from checks.texts import find_fixed_texts
from checks.third_party import find_foreign_imports
from checks.versions import find_versions

__all__ = [
    "find_addresses",
    "find_all",
    "find_class_names",
    "find_cycles",
    "find_decision_faults",
    "find_documented_names",
    "find_fixed_texts",
    "find_foreign_imports",
    "find_glossary_faults",
    "find_language",
    "find_lock_faults",
    "find_subjects",
    "find_unportable",
    "find_versions",
]


def find_all(root: Path, names: list[str]) -> list[str]:
    """Run every check over the files called names, relative to root."""
    with kept_trees():
        return [
            *find_subjects(root, names),
            *find_foreign_imports(root, names),
            *find_lock_faults(root, names),
            *find_addresses(root, names),
            *find_fixed_texts(root, names),
            *find_language(root, names),
            *find_versions(root, names),
            *find_class_names(root, names),
            *find_cycles(root, names),
            *find_unportable(root, names),
            *find_documented_names(root, names),
            *find_glossary_faults(root, names),
            *find_decision_faults(root, names),
        ]
