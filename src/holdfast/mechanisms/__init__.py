"""How a query is answered: mechanisms, what they charge, and the noise they add."""

from holdfast.mechanisms.base import Mechanism
from holdfast.mechanisms.charge import UNIT_BITS, to_float, units_down, units_up
from holdfast.mechanisms.gaussian import ClippedGaussian
from holdfast.mechanisms.noise import SCALE, NoiseSource, SystemNoise, system_noise

__all__ = [
    "SCALE",
    "UNIT_BITS",
    "ClippedGaussian",
    "Mechanism",
    "NoiseSource",
    "SystemNoise",
    "system_noise",
    "to_float",
    "units_down",
    "units_up",
]
