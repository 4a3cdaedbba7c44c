"""A mail as a document: its subject and the plain text of its body.

Headers are read as lines, not as the grammar of addresses: the library's parser of that takes hours for a few
kilobytes that somebody has made up. For the same reason parts, lines and headers are bounded.
"""

import re
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from typing import Any, TypeAlias

from app.core.errors import MalformedRequest
from app.uploads.charset import codec_of
from app.uploads.rows import BadRow, shown

HEADERS = ("from", "to", "date")
MAX_HEADER = 2**14  # characters; what reads the parameters of one takes the square of its length
MAX_PARTS = 100  # also how deep they are nested: every line is compared with every boundary around it
MAX_LINES = 2**18
FOLD = re.compile(r"[\r\n]+[ \t]?")

Mail: TypeAlias = "Message[str, Any]"


class Headers(Compat32):
    """Headers as they stand in the mail, each of a bounded length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """The name and the value of a header. Raises BadRow."""
        name, value = super().header_source_parse(sourcelines)
        if len(value) > MAX_HEADER:
            raise BadRow(f"the header `{shown(name)}` of the mail is longer than {MAX_HEADER} characters")
        return name, value

    def header_fetch_parse(self, name: str, value: str) -> str:
        """The value as it stands in the mail."""
        return value


class Parts:
    """Makes the parts of one mail, and counts them."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, policy: Any) -> Mail:
        """A new part. Raises BadRow."""
        self.n += 1
        if self.n > MAX_PARTS:
            raise BadRow(f"the mail has more than {MAX_PARTS} parts")
        return Message(policy)


def mail_of(data: bytes) -> tuple[str, dict[str, str]]:
    """The text of a mail, and what its headers say. Raises BadRow."""
    if data.count(b"\n") + data.count(b"\r") > 2 * MAX_LINES:
        raise BadRow(f"the mail has more than {MAX_LINES} lines")
    try:
        factory: Any = Parts()
        mail: Mail = BytesParser(factory, policy=Headers()).parsebytes(data)
        headers = {name: value for name in HEADERS if (value := header(mail, name))}
        subject = header(mail, "subject")
        parts = {part.get_content_type(): part for part in reversed(list(parts_of(mail)))}  # the first of each
        part = parts.get("text/plain", parts.get("text/html"))
        body = "" if part is None else content_of(part)
    except BadRow:
        raise
    except Exception as error:  # the library fails in many ways on mails that break the rules
        raise BadRow(f"the mail cannot be read: {type(error).__name__}") from error
    return "\n\n".join(filter(None, (subject, body.strip()))), headers


def parts_of(mail: Mail) -> Iterator[Mail]:
    """The parts that may be the body: neither attachments, nor what is in a mail that is attached."""
    if mail.is_multipart():
        if mail.get_content_maintype() == "multipart":
            for part in mail.get_payload():
                assert isinstance(part, Message)
                yield from parts_of(part)
    elif mail.get_content_disposition() != "attachment":
        yield mail


def header(mail: Mail, name: str) -> str:
    """The text of a header, "" if there is none. Raises BadRow."""
    whole = FOLD.sub(" ", str(mail.get(name, ""))).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    pieces = decode_header(whole)
    return "".join(text if isinstance(text, str) else decoded(text, charset) for text, charset in pieces).strip()


def content_of(part: Mail) -> str:
    """The text of a part, in the encoding that it declares or else in UTF-8. Raises BadRow."""
    data = part.get_payload(decode=True)
    return decoded(data, part.get_content_charset()) if isinstance(data, bytes) else ""


def decoded(data: bytes, charset: str | None) -> str:
    """Some bytes as the text that they are in a charset; ASCII may be UTF-8. Raises BadRow."""
    try:
        if charset is None or codec_of(charset) == "ascii":
            return data.decode()
        return data.decode(codec_of(charset))
    except (UnicodeError, MalformedRequest) as error:
        raise BadRow(f"the mail is not in {charset or 'utf-8'}, the charset that it declares") from error
