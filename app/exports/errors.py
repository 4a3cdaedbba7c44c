"""Refusals of exports."""

from app.core.errors import ServiceError


class ExportTooLarge(ServiceError):
    """The format cannot hold so much; another one can."""


class FormatNotInstalled(ServiceError):
    """The service lacks the library that writes this format."""


class ResultsReplaced(ServiceError):
    """The results were replaced while they were exported; request them again."""
