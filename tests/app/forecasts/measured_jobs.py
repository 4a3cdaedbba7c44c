"""Processor time of jobs on the reference machine: one thread of a 2 GHz server, kernels compiled.

The corpora are the sample of `examples` and data sets of `benchmarks`, encoded with the default text options.
"""

from typing import Any, NamedTuple

from app.forecasts.forecast import Sizes


class Measured(NamedTuple):
    """Seconds of the parts of a job."""

    name: str
    sizes: Sizes
    settings: dict[str, Any]  # as in a request
    encode: float
    atoms: list[float]  # steps
    calibrate: list[float]  # steps
    start: float  # of a chain
    sweep: float
    conclude: float
    power: float | None = None  # a step


MEASURED = [
    Measured(
        "sample",
        Sizes(2000, 129429, 4008, 6),
        {},
        0.172,
        [0.136, 0.136],
        [0.164, 0.146, 0.17, 0.245, 0.0795, 0.098, 0.175, 0.126, 0.143, 0.213, 0.0825, 0.0922, 0.149],
        0.108,
        0.00122,
        1.54,
        2.39,
    ),
    Measured(
        "bbc-5",
        Sizes(2225, 316479, 8359, 3),
        {},
        0.493,
        [0.333, 0.333],
        [0.372, 0.214, 0.338, 0.474, 0.168, 0.221, 0.289, 0.277, 0.455, 0.558, 0.172, 0.237, 0.347],
        0.224,
        0.00152,
        2.77,
        5.38,
    ),
    Measured(
        "tdt2-20",
        Sizes(8741, 1564156, 18775, 10),
        {},
        1.01,
        [3.64, 3.64],
        [2.66, 2.68, 2.73, 2.74, 0.374, 0.427, 0.426, 2.15, 2.45, 3.1, 0.396, 0.433, 0.521],
        0.361,
        0.00392,
        6.73,
        27.2,
    ),
    Measured("sample", Sizes(2000, 129429, 4008, 6), {"kernel": "blocked"}, 0.159, [], [], 1.61, 0.00411, 0.05, None),
    Measured("tdt2-20", Sizes(8741, 1564156, 18775, 10), {"kernel": "blocked"}, 0.952, [], [], 2.67, 0.025, 0.05, None),
    Measured("bbc-5", Sizes(2225, 316479, 8359, 3), {"kernel": "blocked"}, 0.485, [], [], 2.45, 0.00859, 0.05, None),
    Measured(
        "sample",
        Sizes(2000, 129429, 4008, 6),
        {"calibrated": {"n_atoms": 240}},
        0.153,
        [0.364, 0.364],
        [0.126, 0.213, 0.251, 0.418, 0.153, 0.163, 0.359, 0.212, 0.256, 0.357, 0.144, 0.15, 0.26],
        0.186,
        0.00101,
        1.39,
        3.9,
    ),
    Measured(
        "sample",
        Sizes(2000, 129429, 4008, 6),
        {"calibrated": {"n_topics": 512, "n_folds": 10}},
        0.165,
        [0.131, 0.131],
        [0.358, 0.121, 0.145, 0.233, 0.073, 0.0839, 0.136, 0.105, 0.138, 0.196, 0.0772, 0.0977, 0.144],
        0.119,
        0.0011,
        3.83,
        2.73,
    ),
    Measured(
        "sample",
        Sizes(2000, 129429, 4008, 6),
        {"calibrated": {"smoothings": [0.4], "powers": [1.0, 2.0], "n_atom_sweeps": 40}},
        0.162,
        [0.0848, 0.0848],
        [0.157, 0.0468, 0.0465, 0.0546, 0.033, 0.035, 0.0352, 0.0474, 0.0514, 0.0535, 0.0328, 0.0349, 0.0362],
        0.0667,
        0.000924,
        1.46,
        1.09,
    ),
    Measured("sample", Sizes(2000, 129429, 4008, 6), {"kernel": "collapsed"}, 0.129, [], [], 1.58, 0.0326, 0.05, None),
    Measured(
        "sample",
        Sizes(2000, 129429, 4008, 6),
        {"kernel": "blocked", "hyperparameters": {"n_topics": 512}},
        0.16,
        [],
        [],
        4.45,
        0.00808,
        0.05,
        None,
    ),
    Measured(
        "sample",
        Sizes(2000, 129429, 4008, 6),
        {"kernel": "blocked", "hyperparameters": {"n_topics": 16}},
        0.16,
        [],
        [],
        0.524,
        0.00408,
        0.05,
        None,
    ),
    Measured(
        "clinc150-75",
        Sizes(22500, 166431, 1912, 75),
        {},
        0.143,
        [1.35, 1.35],
        [1.43, 0.967, 1.25, 1.31, 1.0, 1.2, 1.37, 1.24, 1.49, 1.44, 0.961, 1.25, 1.39],
        0.919,
        0.00482,
        10.0,
        None,
    ),
    Measured(
        "searchsnippets-8",
        Sizes(12295, 158171, 4139, 4),
        {},
        0.128,
        [1.05, 1.05],
        [0.522, 0.596, 0.686, 0.786, 0.754, 0.805, 0.879, 0.523, 0.664, 0.748, 0.648, 0.722, 0.846],
        0.454,
        0.0023,
        3.04,
        None,
    ),
    Measured(
        "searchsnippets-8",
        Sizes(12295, 158171, 4139, 4),
        {"kernel": "blocked"},
        0.127,
        [],
        [],
        1.94,
        0.00659,
        0.05,
        None,
    ),
    Measured(
        "clinc150-75", Sizes(22500, 166431, 1912, 75), {"kernel": "blocked"}, 0.166, [], [], 3.46, 0.0167, 0.05, None
    ),
    Measured(
        "bbc-5",
        Sizes(2225, 316479, 8359, 3),
        {"kernel": "collapsed", "hyperparameters": {"n_topics": 64}},
        0.316,
        [],
        [],
        2.61,
        0.0774,
        0.05,
        None,
    ),
    Measured(
        "sim60000",
        Sizes(60000, 6000000, 50000, 25),
        {},
        6.0,
        [23.8, 23.8],
        [12.9, 8.24, 8.47, 11.6, 9.06, 9.33, 13.6, 8.38, 8.56, 12.8, 7.64, 9.21, 12.5],
        2.55,
        0.0309,
        51.4,
        None,
    ),
    Measured(
        "20ng-20way", Sizes(18846, 1952846, 29693, 10), {"kernel": "blocked"}, 1.95, [], [], 3.8, 0.0359, 0.05, None
    ),
]
