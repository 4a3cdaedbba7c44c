"""Markup taken out of texts, and recognized in them: HTML, Markdown and mail.

Patterns instead of the standard library's HTML parser: that one raises AssertionError for some declarations, and takes
quadratic time for others. Each pattern here reads a text once, however it is damaged.
"""

import html
from collections.abc import Callable, Sequence

import regex

BLOCKS = (
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 head header hr html img li main nav ol option p pre section select summary table tbody td tfoot "
    "th thead title tr ul"
)
COMMENT = regex.compile(r"<!--.*?(?:-->|\Z)|<[!?][^<>]*>", regex.DOTALL)
HIDDEN = regex.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", regex.DOTALL | regex.IGNORECASE)
BLOCK_TAG = regex.compile(rf"</?(?:{BLOCKS.replace(' ', '|')})\b[^<>]*>", regex.IGNORECASE)
TAG = regex.compile(r"</?[A-Za-z][^<>]*>")

LINK = regex.compile(r"!?\[([^\[\]\n]{0,1000})\](?:\([^()\n]{0,2000}\)|\[[^\[\]\n]{0,200}\])")
REFERENCE = regex.compile(r"^ {0,3}\[[^\[\]\n]{1,200}\]:[^\n]*$", regex.MULTILINE)
EMPHASIS = regex.compile(r"(?<=\w)\*{1,3}(?=\w)")  # inside a word; elsewhere marks part words anyway
FENCE = regex.compile(r"^ {0,3}(?:```|~~~)[^\n]*$", regex.MULTILINE)

HEADER = regex.compile(r"([A-Za-z][A-Za-z0-9-]{0,60}):(?:[ \t](.*))?")
KNOWN_HEADERS = frozenset(
    ("from", "to", "cc", "date", "subject", "message-id", "received", "reply-to", "return-path", "mime-version")
)
QUOTED = regex.compile(r"[ \t]{0,3}[>|]")
ATTRIBUTION = regex.compile(
    r".{0,300}(?:wrote|writes|said|schrieb|schreibt|a écrit|escribió|ha scritto|escreveu|skrev|schreef|пишет|написал)"
    r"[^:]{0,80}:\s*",
    regex.IGNORECASE,
)
FORWARDED = regex.compile(r"-{3,}.{0,20}(?:original message|forwarded message|ursprüngliche nachricht).{0,20}-{3,}\s*",
                          regex.IGNORECASE)  # fmt: skip
SIGNATURE = ("-- ", "--")

HTML_SIGN = regex.compile(
    r"</?(?:a|b|body|br|div|em|font|h[1-6]|html|i|img|li|ol|p|script|span|strong|style|table|td|tr|ul)\b[^<>]*>"
    r"|&(?:nbsp|amp|lt|gt|quot|#\d{1,7}|#x[0-9a-f]{1,6});",
    regex.IGNORECASE,
)
MARKDOWN_SIGN = regex.compile(
    r"^ {0,3}(?:#{1,6} \S|```|~~~)|\[[^\[\]\n]{1,200}\]\([^()\s]{1,500}\)|\*\*\w[^*\n]{0,200}\*\*", regex.MULTILINE
)
LOOKED_AT = 2**14  # characters of a text that is to be recognized


def without_html(text: str) -> str:
    """What a browser would show: no tags, scripts, styles and comments, and entities as their characters."""
    text = HIDDEN.sub(" ", COMMENT.sub(" ", text))
    return html.unescape(TAG.sub("", BLOCK_TAG.sub("\n", text)))


def without_markdown(text: str) -> str:
    """The text without the addresses of links, definitions of references, fences, and marks inside words."""
    text = FENCE.sub("", REFERENCE.sub("", text))
    return str(EMPHASIS.sub("", LINK.sub(r"\1", text)))


def without_mail(text: str) -> str:
    """What the sender wrote: the subject and the body without header, quoted lines and signature."""
    lines = text.splitlines()
    subject, start = header(lines)
    kept = [subject] if subject else []
    for number, line in enumerate(lines[start:], start):
        if line in SIGNATURE or FORWARDED.fullmatch(line):
            break
        if QUOTED.match(line) or (is_before_quote(lines, number) and ATTRIBUTION.fullmatch(line)):
            continue
        kept.append(line)
    return "\n".join(kept)


def header(lines: Sequence[str]) -> tuple[str, int]:
    """The subject in the header of a mail, and the number of the line after it; ("", 0) if there is none."""
    subject, names, n_lines = "", set(), 0
    for line in lines:
        found = HEADER.fullmatch(line)
        if found:
            names.add(found[1].lower())
            subject = found[2] or "" if found[1].lower() == "subject" else subject
        elif not names or not line.startswith((" ", "\t")) or not line.strip():  # one that is indented goes on
            break
        n_lines += 1
    return (subject, n_lines) if len(names & KNOWN_HEADERS) >= 2 else ("", 0)


def is_before_quote(lines: Sequence[str], number: int) -> bool:
    """Whether the next line that is not blank is a quoted one."""
    following = next((line for line in lines[number + 1 : number + 4] if line.strip()), "")
    return QUOTED.match(following) is not None


STRIPPERS: dict[str, Callable[[str], str]] = {
    "mail": without_mail,
    "html": without_html,
    "markdown": without_markdown,
}


def stripped(text: str, markup: Sequence[str]) -> str:
    """The text without these kinds of markup."""
    for kind, strip in STRIPPERS.items():
        if kind in markup:
            text = strip(text)
    return text


def markup_of(text: str) -> list[str]:
    """The kinds of markup that a text seems to have."""
    start = text[:LOOKED_AT]
    lines = start.splitlines()
    n_quoted = sum(QUOTED.match(line) is not None for line in lines)
    found = {
        "html": at_least_two(HTML_SIGN, start),
        "markdown": at_least_two(MARKDOWN_SIGN, start),
        "mail": header(lines)[1] > 0 or n_quoted >= 2 or "-- " in lines,
    }
    return [kind for kind, is_there in found.items() if is_there]


def at_least_two(pattern: "regex.Pattern[str]", text: str) -> bool:
    """Whether a pattern is found twice in a text."""
    first = pattern.search(text)
    return first is not None and pattern.search(text, first.end()) is not None
