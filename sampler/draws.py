"""Random variates by address: exponential, normal, gamma, binomial and multinomial numbers, and rows of phi.

Each is a pure function of a stream's key and a position in it (`sampler.streams`). A variate that takes a varying
number of uniforms also returns the position after the last one it read. Inner loops are written so that LLVM keeps
them in vector registers, divisions without a test for zero (`error_model`), which would keep them out. `fastmath` is
nowhere allowed: every machine with the same libm draws the same numbers.
"""

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sampler.streams import GOLDEN, TO_UNIT, mix, uniform

LAYERS = 256  # of the ziggurat
TAIL = 3.6541528853610088  # where the ziggurat of 256 layers ends and the tail of the normal begins
INDEX_BITS, SIGN_BIT = np.uint64(LAYERS - 1), np.uint64(LAYERS)  # of the 11 bits that `uniform` drops
SIGN_SHIFT, MAGNITUDE_SHIFT = np.uint64(63 - 8), np.uint64(11)

TO_UNIT_32 = 2.0**-32
ODD_32 = np.uint32(0x9E3779B1)
FIRST_32, SECOND_32 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
HALF_WORD = np.uint64(32)
ACCEPTANCE = np.uint64(0xD1B54A32D192ED03)  # flips a key: the second numbers of a row, apart from its first

LOG_2, LOG2_E = math.log(2.0), 1.0 / math.log(2.0)
MANTISSA_BITS = np.uint64(52)
MANTISSA = np.uint64((1 << 52) - 1)
ROOT_HALF = np.uint64(np.float64(math.sqrt(0.5)).view(np.uint64))
TO_ROOT_HALF = np.uint64(np.float64(1.0).view(np.uint64)) - ROOT_HALF
INTEGER = np.uint64(np.float64(2.0**52).view(np.uint64))  # these bits or an integer are 2^52 + the integer
ROUNDING = 1.5 * 2.0**52  # added to a small number, leaves it rounded in the low bits
GROUP = np.uint64(8)  # topics whose flags make a byte
LEAST_LOG = -87.0  # exp of it is still a normal float32: a weight is never zero
LEAST = math.exp(LEAST_LOG)

FEW = 10.0  # expected successes below which a binomial is counted up from zero
COUNTED_DRAWS = 256  # up to here a multinomial compares each draw with all bounds, eight draws at a time


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


def places_of_ones() -> np.ndarray:
    """Of each byte the places of its ones, ascending, then zeros; uint8[256, 8]."""
    places = np.zeros((256, 8), np.uint8)
    for byte in range(256):
        ones = [t for t in range(8) if byte >> t & 1]
        places[byte, : len(ones)] = ones
    return places


ENDS, HEIGHTS, STEPS = ziggurat()
PLACES = places_of_ones()


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
            room = exponential(key, position + 1)
            position += 2
            if 2.0 * room >= beyond * beyond:
                return TAIL + beyond, position
    y = HEIGHTS[i] + uniform(key, position) * (HEIGHTS[i + 1] - HEIGHTS[i])
    return (x if y < math.exp(-0.5 * x * x) else -1.0), position + 1


@njit(cache=True, nogil=True, error_model="numpy")
def normal(key: np.uint64, position: int) -> tuple[float, int]:
    """A standard normal number: layer, sign and magnitude from one hash in 99 of 100 cases."""
    while True:
        bits = random_bits(key, position)
        position += 1
        i = bits & INDEX_BITS
        x = np.float64(bits >> MAGNITUDE_SHIFT) * STEPS[i]
        if x >= ENDS[i + np.uint64(1)]:
            x, position = normal_beyond(np.int64(i), x, key, position)
            if x < 0.0:
                continue
        # the sign is set as a bit: a branch on it would be mispredicted every other time
        return np.uint64(np.float64(x).view(np.uint64) | (bits & SIGN_BIT) << SIGN_SHIFT).view(np.float64), position


@njit(cache=True, nogil=True, error_model="numpy")
def gamma(shape: float, key: np.uint64, position: int) -> tuple[float, int]:
    """A number of Gamma(shape, 1), shape >= 1: Marsaglia and Tsang (2000), a cube of a shifted normal."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x, position = normal(key, position)
        u = 1.0 - uniform(key, position)
        position += 1
        root = 1.0 + c * x
        cube = root * root * root
        square = x * x
        if u < 1.0 - 0.0331 * square * square:  # their squeeze; with shape >= 1 it holds only where root > 0
            return d * cube, position
        if root > 0.0 and math.log(u) < 0.5 * square + d * (1.0 - cube + math.log(cube)):
            return d * cube, position


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
def cut_uniform(shape: float, negligible: float) -> float:
    """The first uniform at or below which `small_gamma` proposes a value <= negligible < 1.

    A proposal x is accepted with probability exp(-x). Below the cut that is above 1 - negligible, so to take every
    such u for a value below the cut, without the test, errs with a probability under negligible times that of the
    cut. Above the cut nothing is changed: there `small_gamma` runs to its end.
    """
    return math.pow(negligible, shape) / (1.0 + shape / math.e)


@njit(cache=True, nogil=True, error_model="numpy")
def negligible(n_topics: int, beta: float) -> float:
    """The weight below which a topic without a count is left out of a word's row.

    Of L topics, all without a count, the weights below x < 1 have the expected sum
    L integral_0^x t^beta exp(-t) / Gamma(beta) dt < L x^(1 + beta) beta / Gamma(beta + 2) < L beta x^(1 + beta).
    With x = 2^-26 / (L beta) that is below 2^-26: less than the rounding of a float32 near 1, and the weights of a word
    that occurs sum to about 1 or more. Never above 1e-6, which also bounds the error of `cut_uniform`.
    """
    return min(1e-6, 2.0**-26 / (n_topics * beta))


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


@njit(cache=True, nogil=True, error_model="numpy")
def unit32(bits: np.uint32) -> float:
    """A number within (0, 1) from 32 bits."""
    return (np.float64(bits) + 0.5) * TO_UNIT_32


@njit(cache=True, nogil=True, error_model="numpy")
def row_bits(key, size, out):
    """Fill uint32 out[0:size] with the random bits at the positions 0 to size - 1. Eight at a time under AVX2."""
    low, high = np.uint32(key), np.uint32(key >> HALF_WORD)
    for l in range(size):  # noqa: E741
        out[l] = bits32(low, high, np.uint32(l))


@njit(cache=True, nogil=True, error_model="numpy")
def plain_log(x: float) -> float:
    """log x of a normal x > 0 to about 1e-12, without a branch or a call: it can run in vector registers.

    x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)) by its series.
    """
    shifted = np.float64(x).view(np.uint64) + TO_ROOT_HALF
    k = np.uint64(INTEGER | (shifted >> MANTISSA_BITS)).view(np.float64) - (2.0**52 + 1023.0)
    m = np.uint64((shifted & MANTISSA) + ROOT_HALF).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    # summed in pairs: a shorter chain of operations that wait for one another
    low = (1.0 + q * (1.0 / 3.0)) + q * q * (1.0 / 5.0 + q * (1.0 / 7.0))
    high = (1.0 / 9.0 + q * (1.0 / 11.0)) + q * q * (1.0 / 13.0)
    series = low + q * q * (q * q) * high
    return k * LOG_2 + 2.0 * s * series


@njit(cache=True, nogil=True, error_model="numpy")
def plain_exp(y: float) -> float:
    """exp y of y in [-87, 87] to about 1e-8 of itself, below the rounding of float32, without a branch or a call.

    y = k log 2 + r with |r| <= log(2) / 2; exp r by its series; k is added to the exponent.
    """
    rounded = y * LOG2_E + ROUNDING
    r = y - (rounded - ROUNDING) * LOG_2
    q = r * r
    low = (1.0 + r) + q * (0.5 + r * (1.0 / 6.0))
    high = (1.0 / 24.0 + r * (1.0 / 120.0)) + q * (1.0 / 720.0 + r * (1.0 / 5040.0))
    series = low + q * q * high
    exponent = np.float64(rounded).view(np.uint64) << MANTISSA_BITS
    return np.uint64(np.float64(series).view(np.uint64) + exponent).view(np.float64)


@intrinsic
def flags_of_eight(typing_context, array, first, bound):
    """A byte whose bit t says whether the 32 bits of array[first + t], unsigned, are at least `bound`."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        eight = ir.VectorType(ir.IntType(32), 8)
        start = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        lane = builder.insert_element(ir.Constant(eight, ir.Undefined), arguments[2], ir.IntType(32)(0))
        bounds = builder.shuffle_vector(lane, lane, ir.Constant(eight, [0] * 8))
        flags = builder.icmp_unsigned(">=", builder.load(start, align=4), bounds)
        return builder.zext(builder.bitcast(flags, ir.IntType(8)), ir.IntType(64))

    return types.uint64(array, types.uint64, types.uint32), build


@intrinsic
def write_places(typing_context, array, end, first, places, flags):
    """Write first + places[flags, t] to array[end + t] for t < 8; return how many bits of flags are set."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        table = context.make_array(signature.args[3])(context, builder, arguments[3]).data
        element = data.type.pointee
        eight = ir.VectorType(element, 8)
        row = builder.gep(table, [builder.shl(arguments[4], ir.IntType(64)(3))])
        row = builder.bitcast(row, ir.VectorType(ir.IntType(8), 8).as_pointer())
        lane = builder.insert_element(
            ir.Constant(eight, ir.Undefined), builder.trunc(arguments[2], element), ir.IntType(32)(0)
        )
        firsts = builder.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8))
        values = builder.add(firsts, builder.zext(builder.load(row, align=8), eight))
        target = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        builder.store(values, target, align=element.width // 8)
        return builder.ctpop(arguments[4])

    return types.uint64(array, types.uint64, types.uint64, places, types.uint64), build


@njit(cache=True, nogil=True, error_model="numpy")
def keep_topics(counts, threshold, topics, bits):
    """Topics with a count into `topics`, those without one whose bits reach the threshold into `bits`; how many each.

    Eight topics give a byte of flags, and a table the places of its ones; all eight are written and only the end
    moves: a branch would be mispredicted for nearly each topic kept. What is overwritten in `bits` has been read, and
    nothing is written beyond the eight.
    """
    counted, kept = np.uint64(0), np.uint64(0)
    n_groups = np.uint64(counts.size) // GROUP
    for group in range(n_groups):
        first = group * GROUP
        has_count = flags_of_eight(counts, first, np.uint32(1))
        reaches = flags_of_eight(bits, first, threshold) & ~has_count
        counted += write_places(topics, counted, first, PLACES, has_count)
        kept += write_places(bits, kept, first, PLACES, reaches)
    for i in range(n_groups * GROUP, np.uint64(counts.size)):
        reaches = np.uint64(bits[i] >= threshold) & np.uint64(counts[i] == 0)
        topics[counted] = np.uint16(i)
        bits[kept] = np.uint32(i)
        counted += np.uint64(counts[i] != 0)
        kept += reaches
    return np.int64(counted), np.int64(kept)


@njit(cache=True, nogil=True, error_model="numpy")
def propose(beta, key, first, kept, topics, weights, bits):
    """GS proposals for the topics in bits[0:kept], written behind `first`; their second numbers into `bits`.

    A proposal of the upper branch, above 1, is left as 2.
    """
    low, high = np.uint32(key), np.uint32(key >> HALF_WORD)
    flipped = key ^ ACCEPTANCE
    low_second, high_second = np.uint32(flipped), np.uint32(flipped >> HALF_WORD)
    area, inverse = 1.0 + beta / math.e, 1.0 / beta
    # whole registers, if there is room: what stands behind the row's end is never read
    end = np.uint64(first)
    padded = np.uint64(min((kept + 7) // 8 * 8, topics.size - first, weights.size - first, bits.size))
    for j in range(padded):
        topic = bits[j]
        p = unit32(bits32(low, high, topic)) * area
        x = plain_exp(max(plain_log(p) * inverse, LEAST_LOG))
        weights[end + j] = np.float32(x if p <= 1.0 else 2.0)
        topics[end + j] = np.uint16(topic)
        bits[j] = bits32(low_second, high_second, topic)


@njit(cache=True, nogil=True, error_model="numpy")
def settle(x, v, beta, cut, key, position):
    """End GS for a proposal that the squeeze v <= 1 - x did not accept."""
    if x <= 1.0:
        if v <= math.exp(-x):
            return x, position
        u = uniform(key, position)
        if u <= cut:  # as good as none: its place is taken, its weight is not
            return LEAST, position + 1
    else:  # of p only p > 1 is known: there it is uniform up to 1 + beta / e
        area = 1.0 + beta / math.e
        u = (1.0 + (area - 1.0) * uniform(key, position)) / area
    x, position = small_gamma(beta, u, key, position + 1)
    return max(x, LEAST), position


@njit(cache=True, nogil=True, error_model="numpy")
def full_row(counts, beta, key, position, topics, weights):
    """A row of beta >= 1: every topic has its gamma."""
    counted = 0
    for i in range(counts.size):
        if counts[i] > 0:
            topics[counted] = i
            counted += 1
    size = counted
    for i in range(counts.size):
        if counts[i] == 0:
            topics[size] = i
            size += 1
    for j in range(size):
        weight, position = gamma(beta + counts[topics[j]], key, position)
        weights[j] = weight
    return size, counted


@njit(cache=True, nogil=True, error_model="numpy")
def phi_row(counts, beta, cut, key, position0, topics, weights, bits):
    """Draw a word's weights Gamma(beta + counts[l]); return how many topics are kept and how many have a count.

    Writes uint16 topics[0:size] and float32 weights[0:size], those with a count first; of the others only those whose
    first uniform is above `cut`, see `cut_uniform`, but at least one topic a row. `bits`, uint32[L], is scratch; all
    arrays are contiguous and hold L or more. A weight without a count stems from 32 bits: neighbouring values differ by
    2^-32 / beta of themselves, below the rounding of a float32 for beta from .004 on.
    Reads `row_bits` of the key and of one flipped key, and its stream from position0 on, however far: nobody else may.
    """
    if beta >= 1.0:
        return full_row(counts, beta, key, position0, topics, weights)
    row_bits(key, counts.size, bits)
    threshold = np.uint32(math.ceil(cut / TO_UNIT_32 - 0.5))
    counted, kept = keep_topics(counts, threshold, topics, bits)
    if counted + kept == 0:
        row_bits(key, counts.size, bits)
        bits[0], kept = np.argmax(bits[: counts.size]), 1
    position = position0
    for j in range(counted):
        weight, position = gamma(beta + counts[topics[j]], key, position)
        weights[j] = weight
    propose(beta, key, counted, kept, topics, weights, bits)
    for j in range(kept):
        x, v = np.float64(weights[counted + j]), unit32(bits[j])
        if v > 1.0 - x:
            x, position = settle(x, v, beta, cut, key, position)
            weights[counted + j] = x
    return counted + kept, counted


@njit(cache=True, nogil=True, error_model="numpy")
def stirling_rest(n: float) -> float:
    """log n! less Stirling's (n + 1/2) log(n + 1) - (n + 1) + log(2 pi) / 2, n >= 0 whole."""
    if n < 10.0:
        return math.lgamma(n + 1.0) - ((n + 0.5) * math.log(n + 1.0) - (n + 1.0) + 0.9189385332046727)
    m = n + 1.0
    q = 1.0 / (m * m)
    return (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q / 1680.0))) / m


@njit(cache=True, nogil=True, error_model="numpy")
def few_successes(n, p, key, position):
    """A binomial with n p < FEW, p <= 1/2, by inversion of one uniform from zero upwards."""
    u = uniform(key, position)
    chance = math.exp(n * math.log1p(-p))
    odds = p / (1.0 - p)
    x = 0
    # the sum of all chances may round to less than u: past the mode a chance of 1e-20 ends the search
    while u >= chance and x < n and (chance > 1e-20 or x <= FEW):
        u -= chance
        x += 1
        chance *= odds * (np.float64(n - x + 1) / np.float64(x))
    return x, position + 1


@njit(cache=True, nogil=True, error_model="numpy")
def many_successes(n, p, key, position):
    """A binomial with n p >= FEW, p <= 1/2: BTRS of Hormann (1993), transformed rejection with a squeeze."""
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    quick = 0.92 - 4.2 / b
    while True:
        u = uniform(key, position) - 0.5
        v = uniform(key, position + 1)
        position += 2
        inside = 0.5 - abs(u)
        if inside <= 0.0:
            continue
        k = math.floor((2.0 * a / inside + b) * u + centre)
        if inside >= 0.07 and v <= quick:
            return np.int64(k), position
        if k < 0.0 or k > n:
            continue
        odds = p / (1.0 - p)
        mode = math.floor((n + 1.0) * p)
        scaled = v * (2.83 + 5.1 / b) * spread / (a / (inside * inside) + b)
        bound = (
            (mode + 0.5) * math.log((mode + 1.0) / (odds * (n - mode + 1.0)))
            + (n + 1.0) * math.log((n - mode + 1.0) / (n - k + 1.0))
            + (k + 0.5) * math.log(odds * (n - k + 1.0) / (k + 1.0))
            + (stirling_rest(mode) + stirling_rest(n - mode))
            - (stirling_rest(np.float64(k)) + stirling_rest(np.float64(n - k)))
        )
        if scaled <= 0.0 or math.log(scaled) <= bound:
            return np.int64(k), position


@njit(cache=True, nogil=True, error_model="numpy")
def binomial(n: int, p: float, key: np.uint64, position: int) -> tuple[int, int]:
    """Successes among n >= 0 trials of probability p in [0, 1]."""
    if n == 0 or p <= 0.0:
        return 0, position
    if p >= 1.0:
        return n, position
    q = p if p <= 0.5 else 1.0 - p
    if n * q < FEW:
        x, position = few_successes(n, q, key, position)
    else:
        x, position = many_successes(n, q, key, position)
    return (x if p <= 0.5 else n - x), position


@njit(cache=True, nogil=True, error_model="numpy")
def count_below(n, key, bounds):
    """How many of n draws of 32 bits lie below each of eight bounds; right where 0 < bound < 2^32.

    The eight counts stay in registers, eight draws go through one loop, and draws from n on are the largest number.
    """
    low, high = np.uint32(key), np.uint32(key >> HALF_WORD)
    last0, last1, last2 = last_below(bounds[0]), last_below(bounds[1]), last_below(bounds[2])
    last3, last4, last5 = last_below(bounds[3]), last_below(bounds[4]), last_below(bounds[5])
    last6, last7 = last_below(bounds[6]), last_below(bounds[7])
    none, end = np.uint32(0), np.uint32(n)
    n0, n1, n2, n3, n4, n5, n6, n7 = none, none, none, none, none, none, none, none
    for i in range((n + 7) // 8 * 8):
        beyond = np.uint32(none - np.uint32(np.uint32(i) >= end))
        draw = np.uint32(bits32(low, high, np.uint32(i)) | beyond)
        n0, n1 = np.uint32(n0 + np.uint32(draw <= last0)), np.uint32(n1 + np.uint32(draw <= last1))
        n2, n3 = np.uint32(n2 + np.uint32(draw <= last2)), np.uint32(n3 + np.uint32(draw <= last3))
        n4, n5 = np.uint32(n4 + np.uint32(draw <= last4)), np.uint32(n5 + np.uint32(draw <= last5))
        n6, n7 = np.uint32(n6 + np.uint32(draw <= last6)), np.uint32(n7 + np.uint32(draw <= last7))
    return n0, n1, n2, n3, n4, n5, n6, n7


@njit(cache=True, nogil=True, error_model="numpy")
def last_below(bound):
    """The largest 32 bits below a bound."""
    return np.uint32(bound - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def weight_if(weight, j, size, taken):
    """The weight j, or nothing where there is none or it has had its draws."""
    return np.float64(weight) if j < size and j != taken else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def bound32(start, mass, dither):
    """The share start / mass in parts of 2^32, rounded down or up by a uniform dither, so that its mean is exact.

    All of the mass is all parts, or a draw could fall upon a rest that is not there.
    """
    return np.int64(start * (2.0**32 / mass) + dither) if start < mass else np.int64(2**32)


@njit(cache=True, nogil=True, error_model="numpy")
def settled(below, bound, n):
    """The draws below a bound, also where none or all are."""
    return np.int64(0) if bound <= 0 else np.int64(n) if bound >= 2**32 else np.int64(below)


@njit(cache=True, nogil=True, error_model="numpy")
def throw(n, weights, first, size, taken, mass, key, position, out):
    """Throw n draws of 32 bits upon weights[first:size], without the one taken, and what else there is of `mass`.

    The bounds between weights are whole numbers of 2^-32 parts, dithered by one uniform: each draw alone has exactly
    its law, and that the draws share the dither changes their joint law by less than n^2 2^-64.
    Helpers get numbers, never an array: numba would count a reference for each call, which takes longer than the rest.
    """
    dither = uniform(key, position)
    draws_key = random_bits(key, position + 1)
    last = size - 1
    start, before = 0.0, np.int64(0)
    for j in range(first, size, 8):
        start0 = start + weight_if(weights[j], j, size, taken)
        start1 = start0 + weight_if(weights[min(j + 1, last)], j + 1, size, taken)
        start2 = start1 + weight_if(weights[min(j + 2, last)], j + 2, size, taken)
        start3 = start2 + weight_if(weights[min(j + 3, last)], j + 3, size, taken)
        start4 = start3 + weight_if(weights[min(j + 4, last)], j + 4, size, taken)
        start5 = start4 + weight_if(weights[min(j + 5, last)], j + 5, size, taken)
        start6 = start5 + weight_if(weights[min(j + 6, last)], j + 6, size, taken)
        start = start6 + weight_if(weights[min(j + 7, last)], j + 7, size, taken)
        bound0, bound1 = bound32(start0, mass, dither), bound32(start1, mass, dither)
        bound2, bound3 = bound32(start2, mass, dither), bound32(start3, mass, dither)
        bound4, bound5 = bound32(start4, mass, dither), bound32(start5, mass, dither)
        bound6, bound7 = bound32(start6, mass, dither), bound32(start, mass, dither)
        bounds = (bound0, bound1, bound2, bound3, bound4, bound5, bound6, bound7)
        n0, n1, n2, n3, n4, n5, n6, n7 = count_below(n, draws_key, bounds)
        counts = (
            settled(n0, bound0, n),
            settled(n1, bound1, n),
            settled(n2, bound2, n),
            settled(n3, bound3, n),
            settled(n4, bound4, n),
            settled(n5, bound5, n),
            settled(n6, bound6, n),
            settled(n7, bound7, n),
        )
        for t in range(min(8, size - j)):
            out[j + t] = counts[t] - before
            before = counts[t]
    out[size] = n - before
    return position + 2


@njit(cache=True, nogil=True, error_model="numpy")
def multinomial(n, weights, size, total, key, position, out):
    """Throw n draws upon weights[0:size] and the rest of `total`; counts into out[0:size + 1]. Next position.

    A rest below zero, by rounding, is none. While the draws are many, weights take their parts by binomials, the
    heaviest first; the others are then few enough to be thrown one by one, eight at a time.
    """
    mass, heaviest, most = 0.0, -1, np.float32(0.0)
    for j in range(size):
        mass += weights[j]
        if weights[j] > most:
            heaviest, most = j, weights[j]
    rest = max(total - mass, 0.0)
    if mass + rest <= 0.0:
        rest = 1.0
    left, first, taken, heavy = n, 0, -1, 0
    if n > COUNTED_DRAWS:
        if heaviest >= 0:
            taken = heaviest
            heavy, position = binomial(n, most / (mass + rest), key, position)
            left -= heavy
        while left > COUNTED_DRAWS and first < size:
            x = 0
            if first != taken and weights[first] > 0.0:
                mass = rest
                for j in range(first, size):
                    mass += weight_if(weights[j], j, size, taken)
                x, position = binomial(left, min(weights[first] / mass, 1.0), key, position)
            out[first] = x
            left -= x
            first += 1
        mass = 0.0
        for j in range(first, size):
            mass += weight_if(weights[j], j, size, taken)
    position = throw(left, weights, first, size, taken, mass + rest, key, position, out)
    if taken >= 0:
        out[taken] = heavy
    return position
