"""SVMlight, which LIBSVM and scikit-learn write as well: bags of words, each word a number."""

import re
from collections.abc import Iterator
from itertools import islice

from app.core.errors import MalformedRequest
from app.uploads.columns import ReadOptions
from app.uploads.formats.reading import Reading
from app.uploads.limits import ReadLimits
from app.uploads.rows import BadLine, BadRow, Row, RowBuilder, shortened
from app.uploads.text_lines import Source, too_long

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
FEATURE = re.compile(r"(\d{1,18}):(\S+)", re.ASCII)
SAMPLE = 100  # lines
LINE = re.compile(r"([^\s:]+ )?(qid:\d+ )?\d+:[\d.eE+-]+( +\d+:[\d.eE+-]+)* *(#.*)?", re.ASCII)


class SvmlightReading(Reading):
    """A file with a label and the counts of numbered words in each line."""

    format = "svmlight"

    def __init__(self, source: Source, options: ReadOptions, limits: ReadLimits) -> None:
        """Raises MalformedRequest if the client names columns, or nothing is there."""
        super().__init__()
        named = [*options.text, *filter(None, (options.label, options.key))]
        if named:
            raise MalformedRequest(f"a file of SVMlight has no column {named[0]}: each line is a label and its words")
        self.source = source
        self.charset = source.charset
        self.limits = limits
        self.has_labels = options.label is None
        self.columns = {
            "text": ["counts"],
            "label": "label" if self.has_labels else None,
            "key": None,
            "fields": ["qid", "comment"],
        }
        self.builder = RowBuilder(limits, options.unlabeled)
        if not any(":" in (line or "") for _, line in islice(source.lines(limits.max_line_bytes), SAMPLE)):
            raise MalformedRequest(f"the file is not SVMlight: its first {SAMPLE} lines have no word with a count")

    def rows(self) -> Iterator[Row | BadLine]:
        """A row for each line with more than a comment in it."""
        longest = self.limits.max_line_bytes
        for number, line in self.source.lines(longest):
            if line is None:
                yield BadLine(number, too_long("line", longest))
                continue
            words, _, comment = line.partition("#")
            parts = words.split()
            if not parts:
                continue
            try:
                yield self.row(number, parts, comment.strip())
            except BadRow as error:
                yield BadLine(number, str(error))

    def row(self, number: int, parts: list[str], comment: str) -> Row:
        """The row of a line. Raises BadRow."""
        label = None if FEATURE.fullmatch(parts[0]) else parts.pop(0)
        fields = {"comment": comment} if comment else {}
        if parts and parts[0].startswith("qid:"):
            fields["qid"] = parts.pop(0)[4:]
        counts: dict[str, float] = {}
        for part in parts:
            found = FEATURE.fullmatch(part)
            if found is None or not NUMBER.fullmatch(found[2]):
                raise BadRow(f"{shortened(part)} is not the number of a word, a colon and its count")
            word = f"f{int(found[1])}"
            if word in counts:
                raise BadRow(f"the word {found[1]} is there twice")
            counts[word] = float(found[2])
        return self.builder.row_of_counts(number, counts, None, self.label(label), fields)

    def label(self, label: str | None) -> object:
        """The label that begins a line: a number, such as +1, or a name."""
        if label is None or not self.has_labels:
            return None
        return float(label) if NUMBER.fullmatch(label) and len(label) < 16 else label


def looks_like_svmlight(beginning: str) -> bool:
    """Whether the first lines are words with their counts."""
    lines = [line for line in beginning.split("\n")[:20] if line.strip() and not line.startswith("#")]
    whole = lines[:-1] or lines  # the last may be cut off
    return bool(whole) and all(LINE.fullmatch(" ".join(line.split())) for line in whole)
