"""The benchmark of new documents, on an easy problem."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks import new_documents, problems


def test_a_model_answers_documents_that_were_held_back_as_a_whole_job_does() -> None:
    line = new_documents.held_back(problems.small(60), 0)
    assert line["documents"] == 38  # a fifth of 192 that bear no label
    assert line["job"]["NMI"] == line["model"]["NMI"] == 1.0
    assert line["novel_of_known"] <= 0.25 and line["documents_a_second"] > 100


def test_a_category_that_was_never_seen_shares_no_word_with_the_others_and_has_no_evidence() -> None:
    line = new_documents.never_seen(problems.small(60), 0)
    assert line["never_seen"] in ("category2", "category3") and line["documents"] == 60
    assert line["novel"] == 0.0 and line["AUROC"] is None, "no novelty either"


def test_the_area_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    score, is_positive = rng.integers(0, 8, 50).astype(float), rng.random(50) < 0.4
    assert new_documents.area(score, is_positive) == pytest.approx(roc_auc_score(is_positive, score), abs=5e-4)
