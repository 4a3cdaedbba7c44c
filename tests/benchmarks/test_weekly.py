"""The weekly replay, on an easy problem."""

import numpy as np

from benchmarks import problems, weekly
from benchmarks.scoring import Answer
from sampler.carried import ABSENT
from sampler.numerics.threads import Threads


def test_late_categories_are_noticed_when_they_arrive_and_the_ids_of_others_are_kept() -> None:
    with Threads() as threads:
        lines = list(weekly.replay(problems.small(120), 0, threads))
    assert [line["part"] for line in lines] == list(range(1, 9))
    assert [line["documents"] for line in lines] == sorted(line["documents"] for line in lines)
    for line in lines:
        has_come = line["part"] >= weekly.FIRST_LATE_PART
        assert set(line["late"].values()) == set(line["late_in_whole_job"].values()) == {has_come}
        assert line["ids_kept"] == line["ids_before"] == (2 if line["part"] > weekly.FIRST_LATE_PART else 0)
        assert line["NMI"] == line["whole_job"]["NMI"]
    seconds = [sum(line[of]["all"] for line in lines[1:]) for of in ("seconds", "seconds_of_whole_job")]
    assert seconds[0] < seconds[1]


def test_documents_of_late_categories_arrive_late_and_all_others_in_any_part() -> None:
    problem = problems.small(60)
    part_of, late = weekly.parts_of(problem)
    is_late = np.isin([problem.names[k] for k in problem.truth], late)
    assert is_late.sum() == 120
    assert np.unique(part_of[is_late]).tolist() == [5, 6, 7, 8]
    assert np.unique(part_of[~is_late]).tolist() == list(range(1, 9))


def test_what_is_carried_is_found_again_by_document_word_and_name() -> None:
    problem, rng = problems.small(20), np.random.default_rng(0)
    order = rng.permutation(problem.truth.size)
    before, now = weekly.arrived(problem, order[:40]), weekly.arrived(problem, order)
    carried = weekly.carried_of(before, now)
    carried.check(now.texts.corpus)
    assert np.count_nonzero(carried.text_before == ABSENT) == now.texts.first.size - before.texts.first.size
    for text, old in enumerate(carried.text_before):
        if old != ABSENT:
            documents = now.documents[now.texts.first[text]], before.documents[before.texts.first[old]]
            assert documents[0] == documents[1]
    names = now.encoded.vocabulary
    for word, new in zip(before.encoded.vocabulary, carried.word_now, strict=True):
        assert names[new] == word if word in names else new == ABSENT


def test_a_category_is_noticed_if_one_of_the_answer_has_most_of_its_documents_and_few_others() -> None:
    problem = problems.small(30)
    truth, name = problem.truth, problem.names[2]

    def noticed(category: np.ndarray) -> bool:
        return weekly.is_noticed(problem, Answer(category, 4, None, None), name)

    assert noticed(truth) and not noticed(np.where(truth == 2, 0, truth))
    assert not noticed(np.where(truth >= 1, 2, truth)), "with most of the others it is not that category"
