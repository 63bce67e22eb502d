"""discreet: ask questions of sensitive data; publish the answers safely."""

from discreet import noise, randomness

__all__ = ["noise", "randomness"]
