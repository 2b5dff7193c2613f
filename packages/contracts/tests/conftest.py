"""Settings for every test of the contracts."""

from hypothesis import HealthCheck, settings

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile("mosaic", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mosaic")
