"""Which route a path belongs to, and how both are named to operators: for metrics, logs and traces."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute

UNKNOWN = "unknown"  # the route of paths that have none
ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PARAMETER = re.compile(r"\{(\w+)\}")


class Found(NamedTuple):
    """The route of a path."""

    route: str  # its template
    path: str  # the path, without what clients choose: of its parameters ids alone


class RouteNames:
    """The routes of an application by their paths, looked up with the first request: by then all are there.

    All their patterns are one, so that a path is matched once; a request is not to wait for its measurement.
    """

    def __init__(self, routes: Sequence[BaseRoute], root_path: str) -> None:
        self.routes, self.root_path = routes, root_path

    @cached_property
    def patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        """The template and pattern of each route, in the order in which they are tried."""
        found = [(route.path_format, route.path_regex) for route in iter_route_contexts(self.routes)]
        return [(str(template), pattern) for template, pattern in found if template is not None]

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """Matches whatever any route does; the number of the last group says which."""
        return re.compile("|".join(f"({re.sub(r'[(][?]P<[^>]+>', '(?:', it.pattern)})" for _, it in self.patterns))

    def find(self, path: str) -> Found:
        """The route of a path, below the root path or not."""
        if self.root_path and path.startswith(f"{self.root_path}/"):
            path = path.removeprefix(self.root_path)
        match = self.whole.match(path)
        if match is None or match.lastindex is None:
            return Found(UNKNOWN, UNKNOWN)
        template, pattern = self.patterns[match.lastindex - 1]
        values = pattern.match(path)
        assert values is not None, "it is a part of the whole pattern"

        def shown(parameter: re.Match[str]) -> str:
            value = values[parameter[1]]
            return value if ID.fullmatch(value) else parameter[0]

        return Found(template, PARAMETER.sub(shown, template))
