"""The tree over the new categories: which of them are one with what probability."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.plots.axes import Frame, horizontal_axis
from app.plots.scales import Scale, counted, is_drawable, percent
from app.plots.svg import WIDTH, Plot, document, element, label, px, text, title, width_of, without_numbers

COLUMNS = ["node", "joined by", "name", "documents", "chance of being together"]
MOST = 60  # leaves that are drawn
ROW = 20
NAMES = 250  # width of the names


class Node(NamedTuple):
    """A node of the tree, as `GET /v1/jobs/{id}/tree` reports it: leaves first, then joins in their order."""

    node: int
    parent: int | None
    category: int | None
    documents: int
    together: float | None
    words: Sequence[str]


class Drawn(NamedTuple):
    """Where the end or the joint of a node is."""

    x: float
    y: float


def plot_tree(nodes: Sequence[Node], names: Mapping[int, str], cut: int | None = None, name: str = "tree") -> Plot:
    """The dendrogram, joints at the chance that documents of their parts are together; dots at a cut's categories."""
    heading = "Which new categories are close to each other"
    if not nodes:
        return without_numbers(name, heading, "There is no new category, and so no tree.", COLUMNS)
    n_leaves = (len(nodes) + 1) // 2
    n_own = len({node.category for node in nodes if node.category is not None})
    n_drawn = n_leaves if n_leaves <= MOST else min(max(n_own, 1), MOST)
    parts_of = parts(nodes)
    below = 2 * n_leaves - n_drawn  # these nodes have been joined already, and are drawn as leaves
    ends = in_order(parts_of, nodes[-1].node, below)
    labels = {end: name_of(nodes[end], nodes, names) for end in ends}
    room = min(max(width_of(each) for each in labels.values()), NAMES)
    frame = Frame(16, 30, WIDTH - room - 22, 30 + ROW * len(ends))
    x = Scale(0.0, 1.0, frame.left, frame.right)
    places = placed(nodes, parts_of, ends, x, frame)

    is_too_fine = cut is not None and n_drawn < min(cut, n_leaves)  # what is not drawn cannot be marked
    n_cut = None if cut is None or is_too_fine else min(max(cut, 1), n_drawn)
    first_open = 2 * n_leaves - n_cut if n_cut is not None else 0
    marks = [(share / 100, percent(share / 100)) for share in range(0, 101, 20)]
    drawn = horizontal_axis(frame, x, marks, "chance that two documents are in the same category", grid=True)
    drawn += [label(frame.right + 8, places[end].y + 4, labels[end], room + 6, "p-text") for end in ends]
    drawn += [branch(nodes[node], [places[part] for part in parts_of[node]], places[node], node >= first_open)
              for node in sorted(places) if node not in labels]  # fmt: skip
    drawn += cut_marks(nodes, places, n_leaves, n_cut, frame) if n_cut is not None else []
    if n_drawn < n_leaves:
        drawn.append(text(frame.left, frame.bottom + 42, f"{n_drawn} of {n_leaves} branches are drawn", "p-muted"))
    said = described(n_leaves, n_own, n_drawn, n_cut)
    rows: list[list[str | int | float | None]] = [
        [node.node, node.parent, name_of(node, nodes, names), node.documents, drawable(node.together)] for node in nodes
    ]
    return Plot(document(name, heading, said, frame.bottom + (44 if n_drawn == n_leaves else 54), drawn), COLUMNS, rows)


def drawable(together: float | None) -> float | None:
    """A chance that can be drawn, or None."""
    return together if is_drawable(together) else None


def parts(nodes: Sequence[Node]) -> list[list[int]]:
    """The two parts of each node; none of a leaf."""
    found: list[list[int]] = [[] for _ in nodes]
    for node in nodes:
        if node.parent is not None:
            found[node.parent].append(node.node)
    return found


def in_order(parts_of: Sequence[Sequence[int]], root: int, below: int) -> list[int]:
    """The leaves from top to bottom; a node joined before the first that is drawn counts as one."""
    found, open_nodes = [], [root]
    while open_nodes:
        node = open_nodes.pop()
        if parts_of[node] and node >= below:
            open_nodes += reversed(parts_of[node])
        else:
            found.append(node)
    return found


def name_of(node: Node, nodes: Sequence[Node], names: Mapping[int, str]) -> str:
    """The name of the category that a node is; of its parts, and of what joins several, the top words."""
    is_whole = node.parent is None or nodes[node.parent].category != node.category
    if node.category is not None and is_whole and node.category in names:
        return names[node.category]
    return ", ".join(node.words[:4]) or "(no words)"


def placed(
    nodes: Sequence[Node], parts_of: Sequence[Sequence[int]], ends: Sequence[int], x: Scale, frame: Frame
) -> dict[int, Drawn]:
    """Where every drawn node is: ends one below another on the right, a joint never to the right of its parts."""
    places = {end: Drawn(frame.right, frame.top + (i + 0.5) * ROW) for i, end in enumerate(ends)}
    for node in nodes:  # parts come before what joins them
        own = [places[part] for part in parts_of[node.node] if part in places]
        if own and node.node not in places:
            at = x(min(max(drawable(node.together) or 0.0, 0.0), 1.0))
            places[node.node] = Drawn(min(at, *(part.x for part in own)), sum(part.y for part in own) / len(own))
    return places


def branch(node: Node, own: Sequence[Drawn], place: Drawn, is_open: bool) -> str:
    """The lines from a joint to its two parts; muted where a cut does not join them."""
    first, second = own
    d = f"M{px(first.x)} {px(first.y)}H{px(place.x)}V{px(second.y)}H{px(second.x)}"
    chance = drawable(node.together)
    said = f"{counted(node.documents, 'document')}, together with {percent(chance or 0.0)}"
    return element("path", title(said), d=d, class_="p-branch p-open" if is_open else "p-branch")


def cut_marks(nodes: Sequence[Node], places: Mapping[int, Drawn], n_leaves: int, n_cut: int, frame: Frame) -> list[str]:
    """A dot at every category of a cut, and a line between joins, where a straight one parts them."""
    end = 2 * n_leaves - n_cut
    dots = [
        element("circle", title(f"one of {n_cut}: {counted(nodes[node].documents, 'document')}"),
                cx=place.x, cy=place.y, r=4, class_="p-new")
        for node, place in sorted(places.items())
        if node < end and ((parent := nodes[node].parent) is None or parent >= end)
    ]  # fmt: skip
    joined = min((place.x for node, place in places.items() if node < end), default=frame.right)
    parted = max((place.x for node, place in places.items() if node >= end), default=frame.left)
    if joined <= parted:
        return dots
    at = (joined + parted) / 2
    said = f"cut into {n_cut}"
    room = width_of(said) / 2
    line = element("path", d=f"M{px(at)} {px(frame.top - 8)}V{px(frame.bottom)}", class_="p-cut")
    return [line, text(max(at, frame.left + room), frame.top - 14, said, "p-text p-strong", "middle"), *dots]


def described(n_leaves: int, n_own: int, n_drawn: int, n_cut: int | None) -> str:
    """The tree in sentences."""
    said = [
        f"{counted(n_leaves, 'group')} of documents that belong to {counted(n_own, 'new category', 'new categories')}."
    ]
    if n_drawn < n_leaves:
        said.append(f"Drawn are the {n_drawn} of them that remain after the first joins.")
    if n_cut is not None:
        said.append(f"Marked is the cut into {n_cut}.")
    return " ".join(said)
