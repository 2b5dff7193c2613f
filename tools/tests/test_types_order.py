"""The order in which the types of components are checked."""

import check
from components import all_components


def test_types_of_a_package_are_checked_before_those_of_what_imports_it() -> None:
    ordered = sorted(all_components(), key=check.types_rank)
    for place, component in enumerate(ordered):
        later = [other for other in ordered[place + 1 :] if other.has_numpy == component.has_numpy]
        inside = set(component.packages) - {str(component.folder)}
        assert not inside.intersection(str(other.folder) for other in later)


def test_components_without_numpy_come_first() -> None:
    has_numpy = {component.name: component.has_numpy for component in all_components()}
    assert has_numpy["store"]
    assert has_numpy["client"]  # for its tests
    assert not has_numpy["contracts"]
    ordered = [c.has_numpy for c in sorted(all_components(), key=check.types_rank)]
    assert ordered == sorted(ordered)
