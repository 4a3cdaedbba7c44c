"""The numbers that the paper prints: Du, Zhuang, He, He and Long, "Learning beyond Predefined Label Space via Bayesian
Nonparametric Topic Modelling" (2019). Means of 10 trials; None where it has a dash.

Its figures 2 to 5 are pictures without numbers, so there is nothing to set beside ours.
"""

from typing import NamedTuple

METRICS = ("NMI", "ARI", "F1")
Scores = tuple[float | None, float | None, float | None]  # NMI, ARI, F1

NEWSGROUPS = ("20ng-D1", "20ng-D2", "20ng-D3", "20ng-D4", "20ng-E1", "20ng-E2", "20ng-E3", "20ng-E4")
TDT2 = "tdt2-20"
STAND_IN = "searchsnippets-8"  # short texts of 8 categories, for ODP, which nobody can have: 5,536 pages of tags
PROBLEMS = (*NEWSGROUPS, TDT2, STAND_IN)

# What D-LDA is told besides the true number of categories, which it is told too.
NUMBERS = {**dict.fromkeys(NEWSGROUPS, (3, 4, 5, 6, 7)), TDT2: (15, 20, 25), STAND_IN: (5, 8, 10)}


class Table(NamedTuple):
    """A table of the paper."""

    number: int
    title: str
    problem: str
    corpus: str  # what the paper ran
    scores: dict[str, Scores]  # by the name of a method or, for D-LDA, of the number that it is told


TABLES = (
    Table(
        1,
        "TDT2, 20 categories of which 10 are known",
        TDT2,
        "TDT2",
        {
            "dpgm": (0.4878, 0.2608, None),
            "cluto": (0.8217, 0.6591, None),
            "cosc": (0.6042, 0.4375, None),
            "sskm": (0.8057, 0.6665, None),
            "sl": (0.7743, 0.7159, 0.8443),
            "dlda-15": (0.8157, 0.7804, 0.8473),
            "dlda": (0.8173, 0.7167, 0.8490),
            "dlda-25": (0.8135, 0.6788, 0.8068),
            "lbpl-ntm": (0.8358, 0.7873, 0.9075),
        },
    ),
    Table(
        2,
        "sparse texts: ODP in the paper, search snippets here, 8 categories of which 4 are known",
        STAND_IN,
        "ODP",
        {
            "dpgm": (0.2825, 0.0966, None),
            "cluto": (0.5302, 0.3983, None),
            "cosc": (0.3866, 0.2451, None),
            "sskm": (0.5155, 0.4145, None),
            "sl": (0.4523, 0.3684, 0.7045),
            "dlda-5": (0.6039, 0.6034, 0.7400),
            "dlda": (0.6054, 0.5480, 0.7868),
            "dlda-10": (0.6084, 0.5119, 0.7461),
            "lbpl-ntm": (0.5877, 0.5781, 0.7715),
        },
    ),
)

SECONDS_PER_SWEEP = {"lbpl-ntm": 0.9, "dlda": 0.7}  # section 5.4, a 4-way problem of 20 Newsgroups, C++ and C, 3.6 GHz
