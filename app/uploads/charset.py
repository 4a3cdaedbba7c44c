"""The encoding of a text: declared, or UTF-8; a file that is not in it is refused as a whole, with a guess."""

import codecs
import io
import re
from typing import BinaryIO, NamedTuple

from charset_normalizer import from_bytes

from app.core.errors import MalformedRequest
from app.uploads.text_lines import Source

PIECE = 2**20
SAMPLE = 2**14  # bytes that are looked at for a guess
MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Encodings of texts, and of nothing that could hold half of a surrogate pair.
NO_CHARSETS = {"utf_7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
SOME = "utf-8, utf-16, iso-8859-1, windows-1252, windows-1251, gb18030, shift_jis, euc-kr"
PUBLIC_NAMES = {
    **{f"cp125{n}": f"windows-125{n}" for n in range(9)},
    **{f"iso8859-{n}": f"iso-8859-{n}" for n in range(1, 17)},
    "cp874": "windows-874",
    "utf_8": "utf-8",
    "latin_1": "iso-8859-1",
    "mac_roman": "macintosh",
}
GUESSES = [
    *(f"cp125{n}" for n in range(9)),
    *("big5", "cp437", "cp850", "cp866", "cp874", "cp932", "euc_jp", "euc_kr", "gb18030", "koi8_r", "mac_roman"),
]


class Mark(NamedTuple):
    """The encoding that a byte order mark shows."""

    codec: str
    size: int


def source_of(file: BinaryIO, declared: str | None, member: str = "") -> Source:
    """The text of a file, checked to its end. Raises MalformedRequest.

    `member` names the file within an archive, for a refusal.
    """
    file.seek(0)
    beginning = file.read(4096)
    mark = mark_of(beginning)
    codec = codec_of(declared) if declared else None
    where = f"{member}: " if member else ""
    if codec is None and mark is None and looks_like_utf_16(beginning):
        found = "utf-16-le" if beginning[1::2].count(0) > beginning[::2].count(0) else "utf-16-be"
        raise MalformedRequest(
            f"{where}the file is not UTF-8: every other byte is zero; it looks like {found}: "
            f"upload it with charset={found}",
            members={"suggested": {"charset": found}},
        )
    if codec is not None and mark is not None and not is_marked(codec, mark):
        raise MalformedRequest(
            f"{where}the declared charset is {declared}, but the file begins with the byte order mark of {mark.codec}"
        )
    if codec in ("utf-16", "utf-32") and mark is None:
        codec += "-be" if beginning[:1] == b"\0" else "-le"
    codec = mark.codec if mark is not None else codec or "utf-8"
    source = Source(file, public_name(codec), codec, 0 if mark is None else mark.size)
    check(source, declared, where)
    return source


def mark_of(beginning: bytes) -> Mark | None:
    """The byte order mark, if there is one."""
    return next((Mark(codec, len(mark)) for mark, codec in MARKS if beginning.startswith(mark)), None)


def codec_of(charset: str) -> str:
    """Python's name of a charset. Raises MalformedRequest if texts cannot be in it."""
    try:
        if not re.fullmatch(r"[\w.:+ -]{1,40}", charset, re.ASCII):
            raise LookupError
        found = codecs.lookup(charset.strip())
        # It is how Python itself tells encodings of texts from others.
        if (
            not found._is_text_encoding
            or found.name.replace("-", "_") in NO_CHARSETS
            or found.incrementaldecoder is None
        ):
            raise LookupError
    except LookupError as error:
        shown = charset[:40].encode("ascii", "replace").decode()
        raise MalformedRequest(f"the charset {shown!r} is not known; some that are: {SOME}") from error
    return "utf-8" if found.name == "utf-8-sig" else found.name


def is_marked(codec: str, mark: Mark) -> bool:
    """Whether a declared encoding is the one that the mark shows."""
    return mark.codec == codec or (codec in ("utf-16", "utf-32") and mark.codec.startswith(codec))


def looks_like_utf_16(beginning: bytes) -> bool:
    """Whether every other byte is zero, more or less: Latin text in UTF-16 is valid UTF-8 full of NULs."""
    half = len(beginning) // 2
    even, odd = beginning[::2].count(0), beginning[1::2].count(0)
    return half > 1 and max(even, odd) > 0.4 * half and min(even, odd) < 0.1 * half


def check(source: Source, declared: str | None, where: str) -> None:
    """Read a file to its end. Raises MalformedRequest at the first byte that is not in its encoding."""
    decoder = codecs.getincrementaldecoder(source.codec)()
    source.file.seek(source.skipped)
    at = source.skipped
    while True:
        data = source.file.read(PIECE)
        try:
            decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            # A decoder puts what was left of the last piece before this one.
            offset = at + len(data) - len(error.object) + error.start
            raise refusal(source, offset, declared, where) from error
        if not data:
            return
        at += len(data)


def refusal(source: Source, offset: int, declared: str | None, where: str) -> MalformedRequest:
    """That a file is not in its encoding, where it is not, and what it may be in."""
    name = f"{declared}, the declared charset" if declared else f"{source.charset}"
    place = f"{where}the file is not {name}, at byte offset {offset} (line {line_of(source, offset)})"
    found = guess(source, offset)
    if found is None:
        return MalformedRequest(f"{place}; name the charset that it is in, for example charset=windows-1252")
    detail = f"{place}; it looks like {found}: upload it with charset={found}"
    return MalformedRequest(detail, members={"suggested": {"charset": found}})


def line_of(source: Source, offset: int) -> int:
    """The line that a byte is in."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(source.codec)("replace"), translate=True)
    source.file.seek(source.skipped)
    left, line = offset - source.skipped, 1
    while left > 0:
        data = source.file.read(min(left, PIECE))
        left -= len(data)
        line += decoder.decode(data).count("\n")
        if not data:
            break
    return line


def guess(source: Source, offset: int) -> str | None:
    """The encoding that the lines from a byte on look like; None if nothing fits.

    Lines in plain ASCII would not help, and many of them would outvote the others.
    """
    source.file.seek(max(0, offset - 200))
    data = source.file.read(2**18)
    mark = mark_of(data) if offset < 4 else None
    if mark is not None:
        return mark.codec
    lines = [line for line in re.split(rb"[\r\n]+", data) if not line.isascii()]
    sample = b"\n".join(lines)[:SAMPLE]
    if b"\0" in sample:
        return None
    if source.codec != "utf-8" and is_utf_8(sample):
        return "utf-8"
    matches = from_bytes(sample, cp_isolation=GUESSES)
    best = matches.best()
    if best is None:
        return None
    # Of what is equally likely, it is by far the most common.
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if western is not None and (western.chaos, western.coherence) == (
        best.chaos,
        best.coherence,
    ):
        return "windows-1252"
    try:
        if sample.decode("cp1252") == str(best):
            return "windows-1252"
    except UnicodeDecodeError:
        pass
    return public_name(best.encoding)


def is_utf_8(sample: bytes) -> bool:
    """Whether some bytes are UTF-8, but for a character that is cut off at their end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def public_name(codec: str) -> str:
    """The name of an encoding as it is known outside of Python."""
    return PUBLIC_NAMES.get(codec, codec.replace("_", "-"))
