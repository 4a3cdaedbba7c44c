"""What is said of labels that are probably not what somebody meant."""

import pytest

from app.uploads.label_guards import label_warnings


def said(labels: dict[str, int], n_documents: int = 1_000) -> str:
    """All warnings about some labels."""
    return "\n".join(label_warnings(list(labels.items()), n_documents))


def test_ordinary_labels_are_passed_without_a_word() -> None:
    assert label_warnings([("Sport", 80), ("Sports law", 80), ("日本語", 5), ("a,b", 9), ("🌍", 7)], 300) == []
    assert label_warnings([], 0) == []


def test_a_corpus_without_a_label_is_said_to_have_none() -> None:
    assert "none of the 20 documents has a label" in said({}, 20)
    assert "discover=true" in said({}, 20)


def test_a_corpus_of_labeled_documents_has_nothing_to_categorize() -> None:
    assert "all 20 documents have a label" in said({"a": 10, "b": 10}, 20)


@pytest.mark.parametrize(
    "other",
    [
        "sport",
        "SPORT",
        " S port",
        "\uff33\uff50\uff4f\uff52\uff54",
        "Spo\u200brt",
        "Spo\u00adrt",
        "Sport\ufeff",
        "Spo\u00a0rt",
    ],
)
def test_labels_that_look_alike_are_named_together(other: str) -> None:
    warning = said({"Sport": 80, other: 30})
    assert "“Sport” (80 documents)" in warning
    assert "differ in nothing but case, blanks, width or signs that nobody sees" in warning


def test_signs_that_nobody_sees_are_written_out() -> None:
    assert "“Spo\\u200brt” (6 documents)" in said({"Sport": 80, "Spo\u200brt": 6})


@pytest.mark.parametrize(
    "label", ["N/A", "n/a", "-", "unknown", "TBD", "None", "null", "#N/A", "(?)", "Unbekannt", "未知"]
)
def test_labels_that_mean_none_are_named_with_what_to_do(label: str) -> None:
    if label == "(?)":
        assert said({label: 80, "Sport": 80}) == "", "that may be anything"
        return
    assert f"upload again with unlabeled={label}" in said({label: 80, "Sport": 80})


def test_labels_of_few_documents_are_counted_and_the_first_ones_named() -> None:
    warning = said({f"label {n:02}": 4 for n in range(30)} | {"Sport": 5})
    assert "30 of 31 labels have fewer than 5 documents" in warning
    assert "“label 09” (4) and 20 more" in warning
