"""The tree, its joints read back into chances."""

import random

import pytest

from app.plots.tree import Node, plot_tree
from tests.app.plots.reading import corners, hint, number, of_class, parsed, texts

#        .9     .6       .2        joints of the five leaves: 0-1, 2-3, (2-3)-4, all
NODES = [
    Node(0, 5, 10, 120, 0.99, ["plasma"]),
    Node(1, 5, 10, 80, 0.99, ["laser"]),
    Node(2, 6, 11, 40, 0.99, ["river"]),
    Node(3, 6, 12, 30, 0.99, ["flood"]),
    Node(4, 7, 13, 20, None, ["court"]),
    Node(5, 8, 10, 200, 0.9, ["plasma"]),
    Node(6, 7, None, 70, 0.6, ["water"]),
    Node(7, 8, None, 90, 0.3, ["water"]),
    Node(8, None, None, 290, 0.1, ["plasma"]),
]
NAMES = {10: "new 1", 11: "new 2", 12: "new 3", 13: "new 4"}


def grown(n_leaves: int, n_categories: int, seed: int) -> list[Node]:
    """A random tree: leaves of one category are joined before the categories are."""
    rng = random.Random(seed)
    category: list[int | None] = [i % n_categories for i in range(n_leaves)]
    parent: list[int | None] = [None] * n_leaves
    open_nodes = list(range(n_leaves))
    while len(open_nodes) > 1:
        pairs = [(a, b) for a in open_nodes for b in open_nodes if a < b and category[a] == category[b] is not None]
        first, second = rng.choice(pairs) if pairs else sorted(rng.sample(open_nodes, 2))
        node = len(parent)
        parent[first] = parent[second] = node
        parent.append(None)
        category.append(category[first] if pairs else None)
        open_nodes = [each for each in open_nodes if each not in (first, second)] + [node]
    n = len(parent)
    return [Node(i, parent[i], category[i], 10, 1 - i / n, [f"word{i}"]) for i in range(n)]


def test_joints_stand_at_the_chance_of_being_together() -> None:
    root = parsed(plot_tree(NODES, NAMES))
    branches = {hint(each): corners(each.attrib["d"])[0] for each in of_class(root, "p-branch")}
    ticks = {each.text: number(each, "x") for each in of_class(root, "p-tick")}
    left, right = ticks["0\u202f%"], ticks["100\u202f%"]
    assert len(branches) == 4
    for said, corners_of in branches.items():
        chance = int(said.rsplit(" ", 1)[1].removesuffix("\u202f%")) / 100
        assert corners_of[1][0] == pytest.approx(left + chance * (right - left), abs=0.1)


def test_each_joint_reaches_its_two_parts_and_leaves_cross_nothing() -> None:
    root = parsed(plot_tree(NODES, NAMES))
    joints = [corners(each.attrib["d"])[0] for each in of_class(root, "p-branch")]
    labels = [number(each, "y") - 4 for each in of_class(root, "p-text") if each.get("text-anchor") is None]
    assert labels == sorted(set(labels))
    ends = sorted(stroke[i][1] for stroke in joints for i in (0, -1) if stroke[i][0] == max(s[0][0] for s in joints))
    assert ends == pytest.approx(labels)
    middles = {(stroke[1][0], round((stroke[1][1] + stroke[2][1]) / 2, 1)) for stroke in joints}
    inner = {stroke[i] for stroke in joints for i in (0, -1)} - {(max(s[0][0] for s in joints), y) for y in ends}
    assert len(inner) == 3
    assert inner < middles


def test_a_leaf_has_the_name_of_its_category_or_its_words_if_it_is_a_part() -> None:
    assert texts(parsed(plot_tree(NODES, NAMES)))[-5:] == ["plasma", "laser", "new 4", "new 2", "new 3"]


@pytest.mark.parametrize(("cut", "line"), [(1, None), (2, 0.2), (3, 0.45), (4, 0.75), (5, 0.95), (99, 0.95)])
def test_a_cut_has_a_dot_at_each_category_and_a_line_between_the_joints(cut: int, line: float | None) -> None:
    root = parsed(plot_tree(NODES, NAMES, cut))
    n = min(cut, 5)
    assert len(of_class(root, "p-new", tag="circle")) == n
    assert len(of_class(root, "p-open")) == n - 1
    ticks = {each.text: number(each, "x") for each in of_class(root, "p-tick")}
    left, right = ticks["0\u202f%"], ticks["100\u202f%"]
    at = corners(of_class(root, "p-cut")[0].attrib["d"])[0][0][0]
    expected = 0.05 if line is None else line
    assert (at - left) / (right - left) == pytest.approx(expected, abs=0.002)
    assert f"cut into {n}" in texts(root)


def test_a_cut_that_no_straight_line_makes_has_dots_alone() -> None:
    crooked = [node._replace(together=0.2) if node.node == 5 else node for node in NODES]
    root = parsed(plot_tree(crooked, NAMES, 3))
    assert len(of_class(root, "p-new", tag="circle")) == 3
    assert not of_class(root, "p-cut")


def test_a_joint_more_probable_than_its_parts_is_not_drawn_to_their_right() -> None:
    turned = [node._replace(together=0.95) if node.node == 7 else node for node in NODES]
    for each in of_class(parsed(plot_tree(turned, NAMES)), "p-branch"):
        [stroke] = corners(each.attrib["d"])
        assert stroke[1][0] <= min(stroke[0][0], stroke[-1][0])


@pytest.mark.parametrize(
    ("n_leaves", "n_categories", "n_drawn"), [(60, 9, 60), (61, 9, 9), (150, 40, 40), (200, 100, 60)]
)
def test_beyond_sixty_leaves_the_categories_are_drawn(n_leaves: int, n_categories: int, n_drawn: int) -> None:
    names = {i: f"new {i + 1}" for i in range(n_categories)}
    plot = plot_tree(grown(n_leaves, n_categories, 1), names, cut=3)
    root = parsed(plot)
    assert len(of_class(root, "p-branch")) == n_drawn - 1
    assert len(of_class(root, "p-new", tag="circle")) == 3
    if n_drawn == n_categories:
        assert set(names.values()) <= set(texts(root))
    assert (f"{n_drawn} of {n_leaves} branches are drawn" in texts(root)) == (n_drawn < n_leaves)
    too_fine = parsed(plot_tree(grown(n_leaves, n_categories, 1), names, cut=n_drawn + 1))
    assert len(of_class(too_fine, "p-new", tag="circle")) == (0 if n_drawn < n_leaves else n_drawn)
    assert (f"the {n_drawn} of them" in (root[1].text or "")) == (n_drawn < n_leaves)
    assert len(plot.rows) == 2 * n_leaves - 1
    assert len(plot.svg.encode()) < 20_000
