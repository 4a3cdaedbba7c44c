"""What does going on cost, and what is noticed when? python -m benchmarks.weekly --data DIR [--problems NAME ...]

The documents of a problem arrive in eight parts, by a hash of their number; two of the new categories arrive from the
fifth part on alone. The first part is a whole job, each later one continues the one before. One JSON line a part: the
scores, beside those of a whole job over the same documents; which late categories are noticed; how many of the new
categories' ids of the part before are still there; whether settings were weighed anew; CPU seconds of both, by the kind
of unit.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.calibrated import Run, answer_of, go_on, run
from benchmarks.problems import Problem
from benchmarks.scoring import Answer, score
from sampler.calibrated.continued import is_continued
from sampler.carried import ABSENT, Carried
from sampler.copies import Texts, texts_from
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads
from sampler.text import Encoded
from worker.short_ids import paired

N_PARTS, FIRST_LATE_PART, N_LATE = 8, 5, 2
NOTICED = 0.5  # Jaccard index of a new category with a true one from which on that is noticed


class Part(NamedTuple):
    """The documents that are there after a part has arrived, in the order of their arrival."""

    documents: Array  # int64[D], their numbers in the whole problem
    problem: Problem
    encoded: Encoded
    texts: Texts


def main() -> None:
    """Replay the chosen problems in turn."""
    parser = argparse.ArgumentParser(prog="benchmarks.weekly", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--problems", nargs="+", default=[], metavar="NAME", help="default: all")
    parser.add_argument("--split", type=int, default=0, help="random choice of labeled documents")
    arguments = parser.parse_args()
    for name in problems.chosen(arguments.data, arguments.problems):
        problem = problems.read(arguments.data, name, arguments.split)
        with Threads() as threads:
            warm_up(threads)
            for line in replay(problem, arguments.split, threads):
                print(json.dumps({"problem": name, **line}), flush=True)


def warm_up(threads: Threads) -> None:
    """Compile all that is measured."""
    problem = problems.small(60)
    order = np.argsort(np.arange(problem.truth.size) % 5, kind="stable")
    before, now = arrived(problem, order[: order.size * 4 // 5]), arrived(problem, order)
    go_on(now.texts, carried_of(before, now), run(before.texts, 0, threads, {}), 0, threads, {})


def replay(problem: Problem, seed: int, threads: Threads) -> Iterator[dict[str, Any]]:
    """The figures of each part."""
    part_of, late = parts_of(problem)
    before: tuple[Part, Run, dict[int, str]] | None = None
    for number in range(1, N_PARTS + 1):
        part = arrived(problem, np.argsort(part_of, kind="stable")[: np.count_nonzero(part_of <= number)])
        seconds, of_whole = dict[str, float](), dict[str, float]()
        whole = run(part.texts, seed, threads, of_whole, time.process_time)
        found, inherited = whole, dict[int, str]()
        if before is not None:
            carried = carried_of(before[0], part)
            found = go_on(part.texts, carried, before[1], seed, threads, seconds, time.process_time)
            inherited = inherited_ids(before[0], answer_of(before[1]), part, answer_of(found), before[2])
        n_known, answer, answer_of_whole = part.problem.corpus.n_known, answer_of(found), answer_of(whole)
        held = np.unique(answer.category[part.problem.scored])
        ids = {int(k): inherited.get(int(k), f"{number}-{k}") for k in held[held >= n_known]}
        yield {
            "part": number,
            "documents": part.documents.size,
            **score(part.problem, answer),
            "whole_job": score(part.problem, answer_of_whole),
            "calibrated_anew": not is_continued(found.steps),
            "late": {name: is_noticed(part.problem, answer, name) for name in late},
            "late_in_whole_job": {name: is_noticed(part.problem, answer_of_whole, name) for name in late},
            "ids_before": len(before[2]) if before else 0,
            "ids_kept": len(inherited),
            "seconds": with_sum(seconds or of_whole),
            "seconds_of_whole_job": with_sum(of_whole),
        }
        before = part, found, ids


def with_sum(seconds: dict[str, float]) -> dict[str, float]:
    """The times of all kinds of units, and of all together."""
    return {**seconds, "all": round(sum(seconds.values()), 1)}


def parts_of(problem: Problem) -> tuple[Array, list[str]]:
    """The part that each document arrives in, int64[D], from 1 on; and the late categories, the largest new ones."""
    new, sizes = np.unique(problem.truth[problem.truth >= problem.corpus.n_known], return_counts=True)
    late = new[np.argsort(-sizes, kind="stable")[:N_LATE]]
    digests = [hashlib.sha256(f"{problem.name} {d}".encode()).digest() for d in range(problem.truth.size)]
    dice = np.array([int.from_bytes(digest[:4], "big") for digest in digests])
    is_late = np.isin(problem.truth, late)
    n_late_parts = N_PARTS - FIRST_LATE_PART + 1
    part_of = np.where(is_late, FIRST_LATE_PART + dice % n_late_parts, 1 + dice % N_PARTS)
    return part_of, [problem.names[k] for k in late]


def arrived(problem: Problem, documents: Array) -> Part:
    """These documents, encoded by themselves."""
    texts = [problem.texts[d] for d in documents]
    categories = [problem.names[problem.truth[d]] for d in documents]
    is_labeled = problem.corpus.labels[documents] != UNLABELED
    labels = [category if told else None for category, told in zip(categories, is_labeled, strict=True)]
    encoded = problems.encode_by_length(texts, labels, has_stop_words=True)
    posed = problems.posed(problem.name, encoded, texts, categories)
    return Part(documents, posed, encoded, texts_from(encoded.corpus, encoded.copy_of))


def carried_of(before: Part, now: Part) -> Carried:
    """What the texts, words and known categories of a part were in the one before."""
    place = np.full(max(int(before.documents.max()), int(now.documents.max())) + 1, ABSENT)
    place[before.documents] = np.arange(before.documents.size)
    first = place[now.documents[now.texts.first]]
    text_before = np.where(first == ABSENT, ABSENT, before.texts.text_of[first])
    return Carried(
        before.texts.corpus,
        text_before.astype(np.int32),
        places(before.encoded.vocabulary, now.encoded.vocabulary),
        places(before.encoded.categories, now.encoded.categories),
    )


def places(names: list[str], others: list[str]) -> Array:
    """int32[n]: where each name is among the others, or ABSENT."""
    place = {name: number for number, name in enumerate(others)}
    return np.array([place.get(name, ABSENT) for name in names], np.int32)


def is_noticed(problem: Problem, answer: Answer, name: str) -> bool:
    """Whether a new category of the answer has most of a true one's documents, and few others."""
    scored = problem.scored
    if name not in problem.names:
        return False
    is_of, category = problem.truth[scored] == problem.names.index(name), answer.category[scored]
    new, sizes = np.unique(category[category >= problem.corpus.n_known], return_counts=True)
    for k, size in zip(new, sizes, strict=True):
        n_shared = int(np.count_nonzero(is_of & (category == k)))
        if 2 * n_shared > is_of.sum() and n_shared >= NOTICED * (is_of.sum() + size - n_shared):
            return True
    return False


def inherited_ids(before: Part, first: Answer, now: Part, second: Answer, ids: dict[int, str]) -> dict[int, str]:
    """The ids that new categories have from the part before, by the unlabeled documents that both parts have."""
    place = {int(d): i for i, d in enumerate(now.documents)}
    pairs = [(i, place[int(d)]) for i, d in enumerate(before.documents) if int(d) in place]
    old, new = np.array(pairs, np.int64).reshape(-1, 2).T
    was, category = first.category[old], second.category[new]
    return paired(
        np.where(np.isin(was, list(ids)), was, NO_CATEGORY),
        np.where(category >= now.problem.corpus.n_known, category, NO_CATEGORY),
        ids,
    )


if __name__ == "__main__":
    main()
