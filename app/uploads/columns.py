"""Which columns of a file are the text, the label and the key: by name, or as the client says."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadOptions:
    """What the client said of a file; all of it is optional."""

    format: str | None = None
    charset: str | None = None
    delimiter: str | None = None
    has_header: bool | None = None
    sheet: str | None = None
    text: tuple[str, ...] = ()  # names of columns
    label: str | None = None  # the name of a column; "" means that there is none
    key: str | None = None
    unlabeled: tuple[str, ...] = ()  # values of the label column that mean: no label
