"""How many examples a property is tried on where it does not say so."""

from hypothesis import settings

# Every run tries other examples, so that few of them in each find what many in one would.
settings.register_profile("few", max_examples=30, deadline=None)
settings.load_profile("few")
