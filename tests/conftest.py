"""Settings of all tests: no example may fail for being slow, since how fast a machine is says nothing of the code."""

from hypothesis import settings

settings.register_profile("untimed", settings(deadline=None))
settings.load_profile("untimed")
