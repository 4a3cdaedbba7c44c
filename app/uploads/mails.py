"""A mail as a document: its subject and the plain text of its body."""

from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from app.uploads.rows import BadRow

HEADERS = ("from", "to", "date")


def mail_of(data: bytes) -> tuple[str, dict[str, str]]:
    """The text of a mail, and what its headers say. Raises BadRow."""
    try:
        mail = BytesParser(policy=policy.default).parsebytes(data)
        assert isinstance(mail, EmailMessage)
        headers = {name: str(mail[name]) for name in HEADERS if mail[name]}
        subject = str(mail["subject"] or "").strip()
        part = mail.get_body(preferencelist=("plain", "html"))
        body = "" if part is None else content_of(part)
    except BadRow:
        raise
    except Exception as error:  # the library fails in many ways on mails that break the rules
        raise BadRow(f"the mail cannot be read: {type(error).__name__}") from error
    return "\n\n".join(filter(None, (subject, body.strip()))), headers


def content_of(part: MIMEPart) -> str:
    """The text of a part, in the encoding that it declares or else in UTF-8. Raises BadRow."""
    data = part.get_payload(decode=True)
    charset = part.get_content_charset("utf-8")
    try:
        return data.decode("utf-8" if charset in ("us-ascii", "ascii") else charset) if isinstance(data, bytes) else ""
    except (UnicodeDecodeError, LookupError) as error:
        raise BadRow(f"the mail is not in {charset}, the charset that it declares") from error
