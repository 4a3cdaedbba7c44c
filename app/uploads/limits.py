"""How much of an upload is read before it is refused."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadLimits:
    """Limits on an upload; whatever exceeds one is refused with the limit's name and value."""

    max_bytes: int = 2**30  # of the whole upload, decompressed
    max_document_bytes: int = 2**20  # of a document's text, in UTF-8
    max_line_bytes: int = 2**22  # of a line, a record over several lines, or an object
    max_fields_bytes: int = 2**16  # of a document's other columns together, as JSON
    max_columns: int = 1_000
    max_files: int = 1_000_000  # in a ZIP
    max_cells: int = 5_000_000  # of the rectangles of a workbook's sheets: they are held in memory
    max_document_tokens: int = 1_000_000  # of a ready bag of words
