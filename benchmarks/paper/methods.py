"""The methods that are compared: the paper's peers and model, ours, and the peers of today.

Each answers a problem for a seed. Methods that take sweeps stop after that many and answer with the last state, as the
paper does. What a method leaves open is at its default in the service, which its page in docs/baselines/ explains.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from baselines import method as running
from baselines.cluto import Cluto
from baselines.cosc import Cosc
from baselines.dlda import Dlda
from baselines.dpgm import Dpgm
from baselines.method import Given, Method, MethodState
from baselines.settings import ClutoSettings, CoscSettings, DldaSettings, DpgmSettings, SlSettings, SskmSettings
from baselines.sl import Sl
from baselines.sskm import Sskm
from benchmarks import calibrated, rivals
from benchmarks.paper import today
from benchmarks.problems import Problem
from benchmarks.scoring import Answer
from sampler.hyperparameters import Hyperparameters, Kernel
from sampler.lbpl_ntm import chain
from sampler.numerics.threads import Threads


class Order(NamedTuple):
    """How a method is to be run."""

    problem: Problem
    seed: int
    n_sweeps: int  # for methods that take sweeps
    n_categories: int  # for methods that are told the number
    out: Path  # where what all runs share may be kept


class Outcome(NamedTuple):
    """What a run found."""

    answer: Answer
    numbers: dict[int, int] | None = None  # in how many of the later sweeps there were so many categories


class Facts(NamedTuple):
    """A method, and what the tables must know of it."""

    run: Callable[[Order], Outcome]
    title: str
    is_told: bool = True  # the true number of categories
    takes_sweeps: bool = False
    names_known: bool = True  # it says which of its categories are the known ones; else it has no F1
    needs_texts: bool = False


def of_baseline(
    make: Callable[[Given], Method], n_chains: int, takes_sweeps: bool = False
) -> Callable[[Order], Outcome]:
    """Runs a baseline until it has settled, or for the sweeps that it takes; the best chain by its objective counts."""

    def run(order: Order) -> Outcome:
        with Threads() as threads:
            tried = make(Given(order.problem.corpus, order.n_categories, order.seed, threads))
            ends = [run_chain(tried, number, order.n_sweeps if takes_sweeps else None) for number in range(n_chains)]
        best = max(ends, key=lambda state: state.objective)
        return Outcome(Answer(best.category, counted(order.problem, best), None, None))

    return run


def run_chain(tried: Method, number: int, n_sweeps: int | None) -> MethodState:
    """The last state of a chain."""
    state = tried.start(number)
    while not state.is_settled and (n_sweeps is None or state.n_sweeps < n_sweeps):
        running.advance(tried, state)
    return state


def counted(problem: Problem, state: MethodState) -> int:
    """The new categories with a scored document, and the known ones unless the method answers with none of them."""
    found, n_known = np.unique(state.category[problem.scored]), problem.corpus.n_known
    n_new = int((found >= n_known).sum())
    return n_new + (n_known if ((found >= 0) & (found < n_known)).any() else 0)


def of_lbpl_ntm(hyperparameters: Hyperparameters, kernel: Kernel) -> Callable[[Order], Outcome]:
    """Runs one chain of the paper's model; numbers of categories are those with documents, of the later half."""

    def run(order: Order) -> Outcome:
        corpus, numbers = order.problem.corpus, Counter[int]()
        state = chain.start(corpus, hyperparameters, order.seed, 0, kernel)
        n_categories = corpus.n_known
        for _ in range(order.n_sweeps):
            draw = chain.sweep(corpus, hyperparameters, state)
            n_categories = corpus.n_known + draw.n_new_with_documents
            if draw.sweep > order.n_sweeps // 2:
                numbers[n_categories] += 1
        answer = Answer(state.document_categories(corpus), n_categories, None, None)
        return Outcome(answer, dict(sorted(numbers.items())))

    return run


def of_answer(answer: Callable[[Problem, int], Answer]) -> Callable[[Order], Outcome]:
    """Runs a method of the quality benchmark."""
    return lambda order: Outcome(answer(order.problem, order.seed))


def of_embeddings(answer: today.OfVectors) -> Callable[[Order], Outcome]:
    """Runs a method on sentence embeddings, which are made once for all splits of a problem."""

    def run(order: Order) -> Outcome:
        vectors = today.embeddings(order.problem, order.out)
        return Outcome(answer(order.problem, vectors, order.seed))

    return run


AS_PRINTED = Hyperparameters(category_step="as_printed", start="random")
EXACT = Hyperparameters(start="random")

METHODS: dict[str, Facts] = {
    "dpgm": Facts(
        of_baseline(lambda given: Dpgm(given, DpgmSettings()), 3), "DPGM", is_told=False, names_known=False
    ),
    "cluto": Facts(of_baseline(lambda given: Cluto(given, ClutoSettings()), 10), "CLUTO", names_known=False),
    "cosc": Facts(of_baseline(lambda given: Cosc(given, CoscSettings()), 1), "COSC"),
    "sskm": Facts(of_baseline(lambda given: Sskm(given, SskmSettings()), 10), "SSKM"),
    "sl": Facts(of_baseline(lambda given: Sl(given, SlSettings()), 1), "SL"),
    "dlda": Facts(of_baseline(lambda given: Dlda(given, DldaSettings()), 1, True), "D-LDA", takes_sweeps=True),
    "lbpl-ntm": Facts(
        of_lbpl_ntm(AS_PRINTED, "collapsed"), "LBPL-NTM as printed", is_told=False, takes_sweeps=True
    ),
    "lbpl-ntm-exact": Facts(
        of_lbpl_ntm(EXACT, "blocked"), "LBPL-NTM exact", is_told=False, takes_sweeps=True
    ),
    "calibrated": Facts(of_answer(calibrated.categorize), "calibrated", is_told=False),
    "svm-k-means": Facts(of_answer(today.svm), "linear SVM, then k-means"),
    "bayesian-mixture": Facts(of_answer(rivals.bayesian_mixture), "Bayesian mixture on LSA", is_told=False),
    "minilm-k-means": Facts(
        of_embeddings(today.k_means), "MiniLM, k-means", names_known=False, needs_texts=True
    ),
    "minilm-hdbscan": Facts(
        of_embeddings(today.hdbscan), "MiniLM, HDBSCAN", is_told=False, names_known=False, needs_texts=True
    ),
    "minilm-umap-hdbscan": Facts(
        of_embeddings(today.umap_hdbscan), "MiniLM, UMAP, HDBSCAN", is_told=False, names_known=False, needs_texts=True
    ),
}  # fmt: skip


def facts_of(method: str) -> Facts:
    """The facts of a method; `dlda-15` is D-LDA told 15. Raises ValueError for an unknown one."""
    name, number = told(method)
    if name not in METHODS:
        raise ValueError(f"{method}: the methods are {', '.join(METHODS)}")
    facts = METHODS[name]
    return facts if number is None else facts._replace(title=f"{facts.title}, K = {number}", is_told=False)


def told(method: str) -> tuple[str, int | None]:
    """The method, and the number that its name tells it, if it does."""
    name, _, number = method.rpartition("-")
    return (name, int(number)) if number.isdigit() else (method, None)
