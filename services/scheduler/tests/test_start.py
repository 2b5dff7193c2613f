"""What the scheduler does not import, so that a stack starts quickly."""

from mosaic_servicekit.testing.start import imported_at_start

SELDOM = ("requests.sessions", "urllib3", "ruamel.yaml.main", "docker")


def test_a_scheduler_loads_what_few_stacks_need_on_use() -> None:
    """HTTP for alerts that are sent, YAML for storage profiles, the engine's client for containers."""
    assert imported_at_start("mosaic_scheduler.__main__", SELDOM) == []
