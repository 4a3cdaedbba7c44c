"""What a round of decisions is worth. python -m benchmarks.reviewer --data DIR [--problems NAME ...] [--results FILE]

Gold labels answer as a person would: some documents a round, chosen by the triage, at random, or by uncertainty
sampling with a plain classifier. One JSON line a problem, strategy and round: the scores over the documents that had no
label at the beginning and that the strategy has not asked about, mean F1 over the categories known at the beginning,
and the number of categories. A strategy that asks about hard documents is scored on easier ones: `NMI_at_first` is that
of the first answer over the same documents. Then a table of means by round. Lines that are in the file of results
already are not measured again.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from app.core.certainty import UNSURE
from app.review.clamped import FEWEST, USUAL_RATE
from app.review.triage import candidates, choose
from benchmarks import calibrated, problems, rivals
from benchmarks.calibrated import Run, go_on
from benchmarks.problems import Problem
from benchmarks.quality import Line, saved, shown
from benchmarks.questions import found_in, portraits_of
from sampler.answers import metrics
from sampler.answers.consensus import consensus_of_documents
from sampler.carried import Carried
from sampler.copies import texts_from
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from sampler.numerics.threads import Threads

N_ROUNDS, N_DOCUMENTS = 5, 20
DIGITS = 4


class Told(NamedTuple):
    """What is known of a problem's documents after some rounds."""

    labels: Array  # int32[D], index of a name, or UNLABELED
    names: list[int]  # true categories by index: those known at the beginning, then others as they were found
    asked: Array  # bool[D], documents that were asked about


Again = Callable[[Problem, Array, list[int], int, Run | None], Run]


def anew(problem: Problem, labels: Array, names: list[int], seed: int, before: Run | None) -> Run:
    """A whole job with these labels. What the last one left, `before`, is not used."""
    corpus = problem.corpus._replace(labels=labels, n_known=len(names))
    with Threads() as threads:
        return calibrated.run(texts_from(corpus, problem.copy_of), seed, threads, {})


def continued(problem: Problem, labels: Array, names: list[int], seed: int, before: Run | None) -> Run:
    """A job that continues the last one as the service does, with labels that are drawn: see `app.review.clamped`."""
    if before is None:
        return anew(problem, labels, names, seed, None)
    given = with_drawn(problem, labels, names, before)
    corpus = problem.corpus._replace(labels=given, n_known=len(names))
    texts, source = texts_from(corpus, problem.copy_of), before.texts.corpus
    same = [np.arange(n, dtype=np.int32) for n in (texts.corpus.n_documents, corpus.n_words, source.n_known)]
    with Threads() as threads:
        return go_on(texts, Carried(source, *same), before, seed, threads, {})


def with_drawn(problem: Problem, labels: Array, names: list[int], before: Run) -> Array:
    """int32[D]: labels that were told, those that were drawn before and are still likely, and those drawn now.

    A reviewer who names a category looks at the new one that the answer has for the document. If most of the documents
    that stand for it are of that category too, it is promoted, and some of its documents that are not unsure bear its
    name; if not, the document alone is of it.
    """
    was, found = consensus_of_documents(before.conclusion.consensus, before.texts), labels.copy()
    drawn_before = (found == UNLABELED) & (before.texts.labels != UNLABELED)
    sure = before.conclusion.label_probability[before.texts.text_of] >= UNSURE
    found[drawn_before & sure] = before.texts.labels[drawn_before & sure]
    n_before, stands_for = before.texts.corpus.n_known, portraits_of(before)
    known_rates = before.rates[~np.isnan(before.rates)]
    rate, rng = float(known_rates.mean()) if known_rates.size else USUAL_RATE, np.random.default_rng(len(names))
    for k in range(n_before, len(names)):
        told = was.category[(labels == k) & (was.category >= n_before)]
        for category in np.unique(told).tolist():
            shown = before.texts.first[stands_for[category].representative]
            if 2 * np.count_nonzero(problem.truth[shown] == names[k]) <= shown.size:
                continue
            free = np.flatnonzero((found == UNLABELED) & (was.category == category) & (was.probability >= UNSURE))
            n = min(max(round(rate * free.size), FEWEST), free.size)
            found[rng.permutation(free)[:n]] = k
    return found


WAYS: dict[str, Again] = {"continued": continued, "anew": anew}


def main() -> None:
    """Measure the chosen problems in turn."""
    parser = argparse.ArgumentParser(prog="benchmarks.reviewer", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with problems.json and data sets")
    parser.add_argument("--problems", nargs="+", default=[], metavar="NAME", help="default: all")
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES), choices=STRATEGIES)
    parser.add_argument("--again", default="continued", choices=WAYS, help="how the next answer follows from labels")
    parser.add_argument("--rounds", type=int, default=N_ROUNDS)
    parser.add_argument("--documents", type=int, default=N_DOCUMENTS, help="that are asked about in a round")
    parser.add_argument("--split", type=int, default=0, help="random choice of labeled documents")
    parser.add_argument("--results", type=Path, help="file that lines are added to, and read from")
    arguments = parser.parse_args()
    done = saved([arguments.results]) if arguments.results and arguments.results.exists() else []
    for name in problems.chosen(arguments.data, arguments.problems):
        wanted = [each for each in arguments.strategies if not is_done(done, name, each, arguments)]
        if not wanted:
            continue
        problem = problems.read(arguments.data, name, arguments.split)
        reviewed = Reviewed(problem, arguments.split, arguments.again)
        for strategy in wanted:
            for line in rounds(reviewed, strategy, arguments.rounds, arguments.documents):
                print(json.dumps(line), flush=True)
                done.append(line)
                if arguments.results:
                    with arguments.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
    print(f"\n{table(done)}")


def is_done(lines: list[Line], name: str, strategy: str, arguments: argparse.Namespace) -> bool:
    """Whether all rounds of a strategy are among the lines."""
    of_it = {"problem": name, "split": arguments.split, "again": arguments.again, "strategy": strategy}
    found = {line["round"] for line in lines if of_it.items() <= line.items()}
    return found >= set(range(arguments.rounds + 1))


class Reviewed:
    """A problem under review: its truth answers, and the first job over it is run once for all strategies."""

    def __init__(self, problem: Problem, seed: int, again: str) -> None:
        self.problem, self.seed, self.again = problem, seed, again
        self.first: Run | None = None

    def beginning(self) -> Told:
        """What is known before the first round."""
        corpus = self.problem.corpus
        return Told(corpus.labels, list(range(corpus.n_known)), np.zeros(corpus.n_documents, bool))

    def job(self, told: Told, before: Run | None) -> Run:
        """The job with the labels as they are now."""
        if before is None and self.first is not None:
            return self.first
        run = WAYS[self.again](self.problem, told.labels, told.names, self.seed, before)
        if before is None:
            self.first = run
        return run

    def answered(self, told: Told, documents: Array) -> Told:
        """What is known after the truth about some documents was told."""
        labels, names, asked = told.labels.copy(), list(told.names), told.asked.copy()
        for document in documents.tolist():
            true = int(self.problem.truth[document])
            if true not in names:
                names.append(true)
            labels[document] = names.index(true)
        asked[documents] = True
        return Told(labels, names, asked)

    def score(self, told: Told, category: Array, n_categories: int) -> dict[str, Any]:
        """What an answer int[D] is worth."""
        scored = self.problem.scored[~told.asked[self.problem.scored]]
        true, found = self.problem.truth[scored], category[scored]
        known = np.arange(self.problem.corpus.n_known)
        return {
            "NMI": round(metrics.nmi(true, found), DIGITS),
            "ARI": round(metrics.ari(true, found), DIGITS),
            "F1": round(metrics.mean_f1(true, found, known), DIGITS),
            "K": n_categories,
            "K_true": self.problem.n_true,
        }


class Strategy:
    """A way to choose documents, and what the answers are taken from."""

    def __init__(self, reviewed: Reviewed) -> None:
        self.reviewed, self.rng = reviewed, np.random.default_rng(reviewed.seed)
        self.run: Run | None = None

    def look(self, told: Told) -> tuple[Array, int]:
        """The category int[D] of each document by what is known now, and how many categories there are."""
        self.run = self.reviewed.job(told, self.run)
        found = consensus_of_documents(self.run.conclusion.consensus, self.run.texts)
        return found.category, found.n_categories

    def choose(self, told: Told, n: int) -> tuple[Array, dict[str, Any]]:
        """The documents int64[n or fewer] to be asked about next, and what is reported of them."""
        raise NotImplementedError


class Random(Strategy):
    """Any documents."""

    def choose(self, told: Told, n: int) -> tuple[Array, dict[str, Any]]:
        free = unasked(self.reviewed.problem, told)
        return self.rng.permutation(free)[:n], {}


class Triage(Strategy):
    """Those that the service proposes."""

    def choose(self, told: Told, n: int) -> tuple[Array, dict[str, Any]]:
        assert self.run is not None
        chosen = choose(candidates(found_in(self.run, told.asked)), n)
        wrong = Counter(
            each.why for each in chosen if told_category(self.reviewed.problem, told, each.document) != each.category
        )
        return np.array([each.document for each in chosen], np.int64), {
            "why": Counter(each.why for each in chosen),
            "corrected": wrong,
        }


class PlainClassifier(Strategy):
    """Those that logistic regression on TF-IDF is least sure of; its own answers are scored."""

    chances: Array  # float64[D], highest probability

    def look(self, told: Told) -> tuple[Array, int]:
        problem = self.reviewed.problem
        vectors = rivals.tf_idf(problem.corpus)
        has_label = (told.labels != UNLABELED) & (problem.corpus.lengths > 0)
        labels = np.unique(told.labels[has_label])
        chances = np.ones((problem.corpus.n_documents, 1))
        if labels.size > 1:
            chances = rivals.fit(vectors[has_label], told.labels[has_label], vectors)
        self.chances = chances.max(axis=1)
        return labels[chances.argmax(axis=1)], len(told.names)

    def choose(self, told: Told, n: int) -> tuple[Array, dict[str, Any]]:
        free = unasked(self.reviewed.problem, told)
        return free[np.argsort(self.chances[free], kind="stable")[:n]], {}


STRATEGIES: dict[str, type[Strategy]] = {"triage": Triage, "random": Random, "uncertainty": PlainClassifier}


def told_category(problem: Problem, told: Told, document: int) -> int:
    """The index of a document's true category; NO_CATEGORY if nobody has named it."""
    true = int(problem.truth[document])
    return told.names.index(true) if true in told.names else NO_CATEGORY


def unasked(problem: Problem, told: Told) -> Array:
    """int64[...]: documents that had no label at the beginning, and have none now."""
    return problem.scored[~told.asked[problem.scored]]


def rounds(reviewed: Reviewed, strategy: str, n_rounds: int, n: int) -> Iterator[Line]:
    """A line before the first round, and one after each."""
    told, way = reviewed.beginning(), STRATEGIES[strategy](reviewed)
    head = {"problem": reviewed.problem.name, "split": reviewed.seed, "again": reviewed.again, "strategy": strategy}
    of_round: dict[str, Any] = {}
    first, n_first = way.look(told)
    category, n_categories = first, n_first
    for number in range(n_rounds + 1):
        if number:
            documents, of_round = way.choose(told, n)
            told = reviewed.answered(told, documents)
            category, n_categories = way.look(told)
        scores, n_asked = reviewed.score(told, category, n_categories), int(told.asked.sum())
        at_first = reviewed.score(told, first, n_first)["NMI"]
        yield {**head, "round": number, "asked": n_asked, **scores, "NMI_at_first": at_first, **of_round}


def table(lines: list[Line]) -> str:
    """Means over problems by strategy and round, in Markdown; problems are counted, since they may differ."""
    rows = [
        "| again | strategy | round | problems | NMI | at first | ARI | F1 | K off by |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    of_round: dict[tuple[str, str, int], dict[tuple[str, int], Line]] = defaultdict(dict)
    for line in lines:  # of a strategy that broke off, and was measured again, the last lines count
        of_round[line["again"], line["strategy"], line["round"]][line["problem"], line["split"]] = line
    for (way, strategy, number), by_problem in of_round.items():
        found = list(by_problem.values())
        figures = [fmean(line[name] for line in found) for name in ("NMI", "NMI_at_first", "ARI", "F1")]
        figures.append(fmean(abs(line["K"] - line["K_true"]) for line in found))
        rows.append(f"| {way} | {strategy} | {number} | {len(found)} | {' | '.join(map(shown, figures))} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
