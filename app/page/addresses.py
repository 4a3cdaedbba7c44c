"""Addresses of the page with their parameters."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import Request

from app.page.api import asked


def address(request: Request, params: Mapping[str, Any]) -> str:
    """The address of the view that is asked for, with other parameters."""
    path = request.url.path
    query = urlencode(asked(params), doseq=True)
    return f"{path}?{query}" if query else path


def number_in(text: str, otherwise: int, most: int = 1_000_000) -> int:
    """The number that a parameter says, from 1 on; a view is never refused for one that says none."""
    return min(max(int(text), 1), most) if text.isascii() and text.isdecimal() and len(text) < 12 else otherwise
