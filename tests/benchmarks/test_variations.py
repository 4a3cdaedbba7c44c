"""Problems that are made up: what they are made of, and that they are the same each time."""

import gzip
import json
from pathlib import Path

from benchmarks import problems
from benchmarks.variations import FEWEST, NO_CATEGORY, Lines, Subset, Variation, chosen, defined, read, write

SIZES = {"a": 40, "b": 30, "c": 25, "d": 20, "rare": 19, NO_CATEGORY: 100}


def lines(n_documents: int = 100) -> Lines:
    """So many documents of each of three categories."""
    return {
        label: [f"{json.dumps({'label': label, 'text': f'{label} {i}'})}\n" for i in range(n_documents)]
        for label in "zyx"
    }


def test_a_variation_takes_categories_that_are_large_enough_and_no_others() -> None:
    found = defined(Variation("v", "set", 9, 2, 0.4, 1), SIZES)
    known, new = found["known"], found["new"]
    assert isinstance(known, list) and isinstance(new, list)
    assert sorted(known + new) == ["a", "b", "c", "d"] and len(known) == 2
    assert defined(Variation("v", "set", 9, 2, 0.4, 1), dict(reversed(SIZES.items()))) == found
    others = [defined(Variation("v", "set", 3, 2, 0.4, seed), SIZES) for seed in range(20)]
    assert len({json.dumps(other) for other in others}) > 5


def test_a_subset_has_at_most_so_many_documents_of_each_category_the_same_each_time() -> None:
    found = chosen(lines(), Subset("s", "set", 30, False, 1))
    assert {label: len(held) for label, held in found.items()} == {"x": 30, "y": 30, "z": 30}
    assert all(set(held) < set(lines()[label]) for label, held in found.items())
    assert chosen(lines(), Subset("s", "set", 30, False, 1)) == found
    skewed = chosen(lines(), Subset("s", "set", 80, True, 2))
    assert all(FEWEST <= len(held) < 80 + FEWEST for held in skewed.values())
    assert len({len(held) for held in skewed.values()}) == 3


def test_what_was_written_is_a_problem_that_the_benchmark_reads(tmp_path: Path) -> None:
    write(tmp_path / "set.jsonl.gz", lines(40))
    assert read(tmp_path / "set.jsonl.gz") == lines(40)
    with gzip.open(tmp_path / "set.jsonl.gz", "rt", encoding="utf-8") as file:
        assert sum(1 for _ in file) == 120
    (tmp_path / "problems.json").write_text(
        json.dumps({"v": defined(Variation("v", "set", 3, 1, 0.5, 1), dict.fromkeys("xyz", 40))})
    )
    problem = problems.read(tmp_path, "v", 0)
    assert (
        problem.corpus.n_documents == 120 and problem.corpus.n_known == 1 and (problem.corpus.labels == 0).sum() == 20
    )
