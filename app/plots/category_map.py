"""The map of categories: alike ones close to each other, each as large as its documents."""

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import NamedTuple

from app.plots.scales import counted, is_drawable
from app.plots.svg import WIDTH, Cell, Plot, brief, document, element, label, px, text, title, width_of, without_numbers

COLUMNS = ["category", "known or new", "documents", "x", "y"]
MOST = 300  # categories
LOWEST, HIGHEST, TOP, EDGE = 240.0, 460.0, 30, 34
LARGEST, SMALLEST = 22.0, 3.0  # radii
COVERED = 0.2  # of the map by marks, at most: the more there are, the smaller
LONGEST_LABEL = 170


class Place(NamedTuple):
    """A category and where it lies; only distances mean something."""

    name: str
    known: bool
    documents: float
    x: float | None
    y: float | None


class Mark(NamedTuple):
    """A place in pixels."""

    place: Place
    x: float
    y: float
    radius: float


class Box(NamedTuple):
    """A rectangle that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether two rectangles have a point in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def plot_category_map(places: Sequence[Place], name: str = "map") -> Plot:
    """Categories at their places, known ones as discs and new ones as diamonds; labels where there is room."""
    heading = "Map of the categories"
    with_place = [place for place in places if all(map(is_drawable, place[2:]))]
    ordered = sorted(with_place, key=lambda place: -place.documents)
    if not ordered:
        return without_numbers(name, heading, "There is no category to place yet.", COLUMNS)
    drawn = ordered[:MOST]
    marks, height = positions(drawn)
    parts = key()
    frame = Box(0.5, TOP, WIDTH - 0.5, TOP + height)
    parts.append(element("rect", x=0.5, y=TOP, width=WIDTH - 1, height=height, rx=4, class_="p-frame"))
    parts += [symbol(mark) for mark in marks]
    parts += labels(marks, frame)
    parts.append(
        text(
            WIDTH / 2, TOP + height + 18, "close together: similar words; the axes have no meaning", "p-muted", "middle"
        )
    )
    said = described(drawn, len(ordered) - len(drawn), len(places) - len(with_place))
    rows: list[list[Cell]] = [
        [place.name, "known" if place.known else "new", place.documents, place.x, place.y] for place in ordered
    ]
    return Plot(document(name, heading, said, TOP + height + 28, parts), COLUMNS, rows)


def positions(places: Sequence[Place]) -> tuple[list[Mark], float]:
    """The places in pixels, and the height that they take; a unit is as long across as upwards."""
    xs, ys = [place.x or 0.0 for place in places], [place.y or 0.0 for place in places]
    middle_x, middle_y = (min(xs) / 2 + max(xs) / 2), (min(ys) / 2 + max(ys) / 2)
    units = [
        (pixels - 2 * EDGE) / (max(values) - min(values))
        for values, pixels in ((xs, WIDTH), (ys, HIGHEST))
        if max(values) > min(values)
    ]
    unit = min(units, default=0.0)
    height = max(LOWEST, (max(ys) - min(ys)) * unit + 2 * EDGE)
    radius = radii([max(place.documents, 0) for place in places], WIDTH * height)
    marks = [
        Mark(
            place, WIDTH / 2 + (x - middle_x) * unit, TOP + height / 2 - (y - middle_y) * unit, radius(place.documents)
        )
        for place, x, y in zip(places, xs, ys, strict=True)
    ]
    return marks, height


def radii(documents: Sequence[float], area: float) -> Callable[[float], float]:
    """The radius of a number of documents, with an area in proportion to it."""
    if not sum(documents):
        return lambda n: SMALLEST
    unit = min(LARGEST / sqrt(max(documents)), sqrt(COVERED * area / pi / sum(documents)))
    return lambda n: max(unit * sqrt(max(n, 0)), SMALLEST)


def symbol(mark: Mark) -> str:
    """A disc or a diamond of the same area."""
    said = title(f"{mark.place.name}: {counted(int(mark.place.documents), 'document')}")
    if mark.place.known:
        return element("circle", said, cx=mark.x, cy=mark.y, r=mark.radius, class_="p-known p-mark")
    return element("path", said, d=diamond(mark.x, mark.y, mark.radius), class_="p-new p-mark")


def diamond(x: float, y: float, radius: float) -> str:
    """A square on its corner with the area of a disc."""
    half = px(radius * sqrt(pi / 2))
    return f"M{px(x)} {px(y)}m0-{half}l{half} {half}l-{half} {half}l-{half}-{half}z"


def labels(marks: Sequence[Mark], frame: Box) -> list[str]:
    """Names beside the largest marks, each at the first of four sides where it covers no name and no mark's middle."""
    taken = [Box(m.x - m.radius * 0.6, m.y - m.radius * 0.6, m.x + m.radius * 0.6, m.y + m.radius * 0.6) for m in marks]
    found = []
    for mark in marks:
        width = min(width_of(mark.place.name), LONGEST_LABEL)
        beside, half = mark.radius * 1.1 + 4, width / 2
        for anchor, x, y, left in (
            ("start", mark.x + beside, mark.y + 4, mark.x + beside),
            ("end", mark.x - beside, mark.y + 4, mark.x - beside - width),
            ("middle", mark.x, mark.y - beside - 1, mark.x - half),
            ("middle", mark.x, mark.y + beside + 10, mark.x - half),
        ):
            box = Box(left, y - 11, left + width, y + 3)
            inside = (
                box.left > frame.left and box.right < frame.right and box.top > frame.top and box.bottom < frame.bottom
            )
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                found.append(label(x, y, mark.place.name, width, "p-text p-halo", anchor))
                break
    return found


def key() -> list[str]:
    """What the shapes mean."""
    return [
        element("path", d=diamond(12, 12, 6), class_="p-new p-mark"),
        text(26, 16, "new", "p-text"),
        element("circle", cx=78, cy=12, r=6, class_="p-known p-mark"),
        text(90, 16, "known", "p-text"),
        text(WIDTH - 4, 16, "area: documents", "p-muted", "end"),
    ]


def described(drawn: Sequence[Place], n_more: int, n_without: int) -> str:
    """The map in sentences."""
    n_new = sum(not place.known for place in drawn)
    said = [
        f"{counted(n_new, 'new category', 'new categories')} and {len(drawn) - n_new} known, "
        f"the largest is {brief(drawn[0].name)} with {counted(int(drawn[0].documents), 'document')}."
    ]
    if n_more:
        said.append(f"{n_more} smaller ones are not drawn.")
    if n_without:
        said.append(f"{counted(n_without, 'category has', 'categories have')} no place.")
    return " ".join(said)
