"""How a query is answered: mechanisms, what they charge, and the noise they add."""

from surehold.mechanisms.charge import UNIT_BITS, to_float, units_down, units_up
from surehold.mechanisms.gaussian import ClippedGaussian
from surehold.mechanisms.noise import SCALE, NoiseSource, SystemNoise, system_noise

__all__ = [
    "SCALE",
    "UNIT_BITS",
    "ClippedGaussian",
    "NoiseSource",
    "SystemNoise",
    "system_noise",
    "to_float",
    "units_down",
    "units_up",
]
