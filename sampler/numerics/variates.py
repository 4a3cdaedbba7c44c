"""Random variates by address: exponential, normal and gamma numbers; and what makes many of them side by side.

Each is a pure function of a stream's key and a position in it (`sampler.numerics.streams`). A variate that takes a
varying number of uniforms also returns the position after the last one it read. What inner loops use is written so that
LLVM keeps them in vector registers, divisions without a test for zero (`error_model`), which would keep them out.
No `fastmath` here (docs/decisions/0017): every machine with the same libm draws the same numbers.
"""

import math

import numpy as np
from numba import njit

from sampler.numerics import simd
from sampler.numerics.streams import GOLDEN, TO_UNIT, mix, uniform

LAYERS = 256  # of the ziggurat
TAIL = 3.6541528853610088  # where the ziggurat of 256 layers ends and the tail of the normal begins
INDEX_BITS, SIGN_BIT = np.uint64(LAYERS - 1), np.uint64(LAYERS)  # of the 11 bits that `uniform` drops
SIGN_SHIFT, MAGNITUDE_SHIFT = np.uint64(63 - 8), np.uint64(11)

# u < 1 - 0.0331 x^4 is the squeeze of Marsaglia and Tsang for all shapes >= 1. With c^2 = 1 / (9 d), which is 1/6 for
# shape 1, u < 1 - 6 0.0331 c^2 x^4 accepts more, and is right too. For y = c x the test asks for log u < g(y) / c^2,
# g free of the shape; so exp(t g(y)) - 1 + 0.1986 t y^4 must not be negative for t = 1 / c^2 >= 6. It is convex in t
# and zero at t = 0: as it is not negative at t = 6, it is not beyond. And where 1 - 0.1986 c^2 x^4 > 0, |y| < 1.
SQUEEZE = 6.0 * 0.0331

TO_UNIT_32 = 2.0**-32
ODD_32 = np.uint32(0x9E3779B1)
FIRST_32, SECOND_32 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
HALF_WORD = np.uint64(32)

LOG_2 = math.log(2.0)
TWICE = 2.0 / LOG_2
MANTISSA_BITS = np.uint64(52)
MANTISSA = np.uint64((1 << 52) - 1)
ROOT_HALF = np.uint64(np.float64(math.sqrt(0.5)).view(np.uint64))
TO_ROOT_HALF = np.uint64(np.float64(1.0).view(np.uint64)) - ROOT_HALF
INTEGER = np.uint64(np.float64(2.0**52).view(np.uint64))  # these bits or an integer are 2^52 + the integer
MANTISSA_32 = np.uint32((1 << 23) - 1)
ROOT_HALF_32 = np.uint32(np.float32(math.sqrt(0.5)).view(np.uint32))
TO_ROOT_HALF_32 = np.uint32(np.float32(1.0).view(np.uint32) - ROOT_HALF_32)
ONE, TWO, LOG_2_32 = np.float32(1.0), np.float32(2.0), np.float32(math.log(2.0))
TWO_THIRDS, TWO_FIFTHS, TWO_SEVENTHS, TWO_NINTHS = (np.float32(2.0 / n) for n in (3, 5, 7, 9))
ROUNDING = 1.5 * 2.0**52  # added to a small number, leaves it rounded in the low bits


def ziggurat() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right ends x_i, heights f(x_i) and x_i / 2^53 of the layers, each float64[LAYERS + 1].

    Marsaglia and Tsang (2000) in the layout of Doornik (2005): horizontal layers of equal area under
    f(x) = exp(-x^2 / 2). Layer 0 is the box [0, TAIL] of height f(TAIL) and the tail beyond; as a box of that
    height it would reach to x_0. Layer i > 0 lies between f(x_i) and f(x_(i+1)) and reaches to x_i; x_1 = TAIL and
    x_LAYERS = 0. The part of a layer left of x_(i+1) is wholly under the curve.
    """
    height = math.exp(-0.5 * TAIL * TAIL)
    area = TAIL * height + math.sqrt(math.pi / 2.0) * math.erfc(TAIL / math.sqrt(2.0))
    ends = np.zeros(LAYERS + 1)
    ends[0], ends[1] = area / height, TAIL
    for i in range(2, LAYERS):
        height += area / ends[i - 1]
        ends[i] = math.sqrt(-2.0 * math.log(height))
    return ends, np.exp(-0.5 * ends * ends), ends * TO_UNIT


ENDS, HEIGHTS, STEPS = ziggurat()


@njit(cache=True, nogil=True, error_model="numpy")
def random_bits(key: np.uint64, position: int) -> np.uint64:
    """The 64 bits at a position of a stream, of which `uniform` keeps 53."""
    return mix(key + GOLDEN * (np.uint64(position) + np.uint64(1)))


@njit(cache=True, nogil=True, error_model="numpy")
def exponential(key: np.uint64, position: int) -> float:
    """A number of Exp(1); finite, since 1 - u is at least 2^-53."""
    return -math.log(1.0 - uniform(key, position))


@njit(cache=True, nogil=True, error_model="numpy")
def normal_beyond(i, x, key, position):
    """The magnitude of a normal from x in layer i but right of x_(i+1); -1 if x is above the curve."""
    if i == 0:  # Marsaglia (1964): the tail under an exponential of rate TAIL
        while True:
            beyond = exponential(key, position) / TAIL
            bound = exponential(key, position + 1)
            position += 2
            if 2.0 * bound >= beyond * beyond:
                return TAIL + beyond, position
    y = HEIGHTS[i] + uniform(key, position) * (HEIGHTS[i + 1] - HEIGHTS[i])
    return (x if y < math.exp(-0.5 * x * x) else -1.0), position + 1


@njit(cache=True, nogil=True, error_model="numpy")
def normal_from(bits: np.uint64, key: np.uint64, position: int) -> tuple[float, int]:
    """A standard normal number whose first 64 bits are these: layer, sign and magnitude, in 99 of 100 cases enough."""
    while True:
        i = bits & INDEX_BITS
        x = np.float64(bits >> MAGNITUDE_SHIFT) * STEPS[i]
        if x >= ENDS[i + np.uint64(1)]:
            x, position = normal_beyond(np.int64(i), x, key, position)
            if x < 0.0:
                bits = random_bits(key, position)
                position += 1
                continue
        return with_sign(x, bits), position


@njit(cache=True, nogil=True, error_model="numpy")
def with_sign(x, bits):
    """x >= 0 with a sign from the bits; set as a bit, since a branch on it would be mispredicted every other time."""
    return np.uint64(np.float64(x).view(np.uint64) | (bits & SIGN_BIT) << SIGN_SHIFT).view(np.float64)


@njit(cache=True, nogil=True, error_model="numpy")
def normal(key: np.uint64, position: int) -> tuple[float, int]:
    """A standard normal number."""
    return normal_from(random_bits(key, position), key, position + 1)


@njit(cache=True, nogil=True, error_model="numpy")
def gamma_from(shape: float, x: float, u: float, key: np.uint64, position: int) -> tuple[float, int]:
    """A number of Gamma(shape, 1), shape >= 1, whose first normal and first uniform, of (0, 1], are x and u.

    Marsaglia and Tsang (2000), a cube of a shifted normal.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        root = 1.0 + c * x
        cube = root * root * root
        square = x * x
        if u < 1.0 - SQUEEZE * (c * c) * (square * square):
            return d * cube, position
        if root > 0.0 and math.log(u) < 0.5 * square + d * (1.0 - cube + math.log(cube)):
            return d * cube, position
        x, position = normal(key, position)
        u = 1.0 - uniform(key, position)
        position += 1


@njit(cache=True, nogil=True, error_model="numpy")
def gamma(shape: float, key: np.uint64, position: int) -> tuple[float, int]:
    """A number of Gamma(shape, 1), shape >= 1."""
    x, position = normal(key, position)
    return gamma_from(shape, x, 1.0 - uniform(key, position), key, position + 1)


@njit(cache=True, nogil=True, error_model="numpy")
def small_gamma(shape: float, u: float, key: np.uint64, position: int) -> tuple[float, int]:
    """A number of Gamma(shape, 1), 0 < shape < 1: GS of Ahrens and Dieter (1974), whose first uniform is u.

    While p = u (e + shape) / e is at most 1, the candidate is p^(1/shape), increasing in u.
    """
    area = 1.0 + shape / math.e
    while True:
        p = u * area
        v = uniform(key, position)
        if p <= 1.0:
            x = p ** (1.0 / shape)
            if v <= 1.0 - x or v <= math.exp(-x):
                return x, position + 1
        else:
            x = -math.log((area - p) / shape)
            if v * x <= 1.0 or v <= x ** (shape - 1.0):  # x >= 1 in this branch, so the power is at least 1 / x
                return x, position + 1
        u = uniform(key, position + 1)
        position += 2


@njit(cache=True, nogil=True, error_model="numpy")
def any_gamma(shape: float, key: np.uint64, position: int) -> tuple[float, int]:
    """A number of Gamma(shape, 1), shape > 0."""
    if shape >= 1.0:
        return gamma(shape, key, position)
    return small_gamma(shape, uniform(key, position), key, position + 1)


@njit(cache=True, nogil=True, error_model="numpy")
def scramble(x: np.uint32) -> np.uint32:
    """The 32-bit finalizer of MurmurHash3 (Appleby): a bijection in which each bit changes about half of the bits."""
    x = np.uint32((x ^ (x >> np.uint32(16))) * FIRST_32)
    x = np.uint32((x ^ (x >> np.uint32(13))) * SECOND_32)
    return np.uint32(x ^ (x >> np.uint32(16)))


@njit(cache=True, nogil=True, error_model="numpy")
def bits32(low: np.uint32, high: np.uint32, position: np.uint32) -> np.uint32:
    """32 random bits at a position of the stream whose key has these halves."""
    return scramble(np.uint32(scramble(np.uint32(position * ODD_32 + low)) ^ high))


@njit(cache=True, nogil=True, inline="always")
def scramble_lanes(x):
    """`scramble` of LANES numbers."""
    x = simd.multiply(
        simd.exclusive_or(x, simd.shift_right(x, simd.spread(np.int32(16)))), simd.spread(np.int32(FIRST_32))
    )
    x = simd.multiply(
        simd.exclusive_or(x, simd.shift_right(x, simd.spread(np.int32(13)))), simd.spread(np.int32(SECOND_32))
    )
    return simd.exclusive_or(x, simd.shift_right(x, simd.spread(np.int32(16))))


@njit(cache=True, nogil=True, inline="always")
def lane_bits(low, high, position):
    """`bits32` of LANES positions."""
    spot = simd.add(simd.multiply(position, simd.spread(np.int32(ODD_32))), low)
    return scramble_lanes(simd.exclusive_or(scramble_lanes(spot), high))


@njit(cache=True, nogil=True, inline="always")
def lane_uniforms(key, position):
    """Float32 uniform on [0, 1] from 32 bits, at LANES positions of a stream; other numbers than those of `uniform`."""
    low, high = simd.spread(np.int32(key)), simd.spread(np.int32(key >> HALF_WORD))
    bits = simd.unsigned_float(lane_bits(low, high, position))
    return simd.multiply(bits, simd.spread(np.float32(TO_UNIT_32)))


@njit(cache=True, nogil=True, inline="always")
def dense_lane_uniforms(key, position):
    """The same with 32 bits more, dense near zero: a number is below x with a probability that errs by 2^-64."""
    turned = (key >> HALF_WORD) | (key << HALF_WORD)
    fine = simd.multiply(lane_uniforms(turned, position), simd.spread(np.float32(TO_UNIT_32)))
    return simd.add(lane_uniforms(key, position), fine)


@njit(cache=True, nogil=True, error_model="numpy")
def unit32(bits: np.uint32) -> float:
    """A number within (0, 1) from 32 bits."""
    return (np.float64(bits) + 0.5) * TO_UNIT_32


@njit(cache=True, nogil=True, error_model="numpy")
def plain_log2(x: float) -> float:
    """log2 x of a normal x > 0 to about 2e-12, without a branch or a call: it can run in vector registers.

    x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)) by its series.
    """
    shifted = np.float64(x).view(np.uint64) + TO_ROOT_HALF
    k = np.uint64(INTEGER | (shifted >> MANTISSA_BITS)).view(np.float64) - (2.0**52 + 1023.0)
    m = np.uint64((shifted & MANTISSA) + ROOT_HALF).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    square = q * q
    # summed in pairs: a shorter chain of operations that wait for one another
    low = (TWICE + q * (TWICE / 3.0)) + square * (TWICE / 5.0 + q * (TWICE / 7.0))
    high = (TWICE / 9.0 + q * (TWICE / 11.0)) + square * (TWICE / 13.0)
    return k + s * (low + square * square * high)


@njit(cache=True, nogil=True, error_model="numpy")
def plain_exp2(y: float) -> float:
    """2^y of y in [-126, 126] to about 1e-8 of itself, below the rounding of float32, without a branch or a call.

    y = k + r with |r| <= 1/2; 2^r by its series; k is added to the exponent.
    """
    rounded = y + ROUNDING
    r = y - (rounded - ROUNDING)
    q = r * r
    low = (1.0 + r * LOG_2) + q * (LOG_2**2 / 2.0 + r * (LOG_2**3 / 6.0))
    high = (LOG_2**4 / 24.0 + r * (LOG_2**5 / 120.0)) + q * (LOG_2**6 / 720.0 + r * (LOG_2**7 / 5040.0))
    exponent = np.float64(rounded).view(np.uint64) << MANTISSA_BITS
    return np.uint64(np.float64(low + q * q * high).view(np.uint64) + exponent).view(np.float64)


@njit(cache=True, nogil=True, error_model="numpy")
def short_log(x):
    """log x of a float32 x > 0 to its rounding, without a branch or a call: it can run in vector registers.

    x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)) by its series. Of 0 it is about -88.
    """
    shifted = np.uint32(np.float32(x).view(np.uint32) + TO_ROOT_HALF_32)
    k = np.float32(np.int32(shifted >> np.uint32(23)) - np.int32(127))
    m = np.uint32((shifted & MANTISSA_32) + ROOT_HALF_32).view(np.float32)
    s = (m - ONE) / (m + ONE)
    q = s * s
    series = TWO + q * (TWO_THIRDS + q * (TWO_FIFTHS + q * (TWO_SEVENTHS + q * TWO_NINTHS)))
    return k * LOG_2_32 + s * series
