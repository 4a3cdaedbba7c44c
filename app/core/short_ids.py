"""Short ids of categories, as symbols that people can read out."""

import hashlib

SYMBOLS = "0123456789abcdefghjkmnpqrstvwxyz"  # of Crockford's base 32, which has no i, l, o and u
PREFIX, LONGEST = "c-", 18


def digest(*parts: str) -> str:
    """LONGEST symbols of the SHA-256 of some texts."""
    number = int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest(), "big")
    return "".join(SYMBOLS[number >> (256 - 5 * (place + 1)) & 31] for place in range(LONGEST))
