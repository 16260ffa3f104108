"""What all tests share: none is judged by the time that it takes."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
