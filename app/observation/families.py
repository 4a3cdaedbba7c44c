"""Families of metrics, made of plain numbers; all names begin with the service's."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from app.core.counters import BUCKETS, INFINITE, SUM, Key

PREFIX = "newfound_"
Labels = TypeVar("Labels", bound=tuple[str, ...])


def gauge(name: str, help: str, values: Mapping[Labels, float], labels: Sequence[str] = ()) -> GaugeMetricFamily:
    """Values by their labels."""
    family = GaugeMetricFamily(PREFIX + name, help, labels=labels)
    for of_labels, value in sorted(values.items()):
        family.add_metric(of_labels, value)
    return family


def counter(
    name: str, help: str, counted: Mapping[Key, float], labels: Sequence[str] = ()
) -> CounterMetricFamily:  # fmt: skip
    """What all workers have counted under a name, by the kind of unit and the part where there are labels for them."""
    family = CounterMetricFamily(PREFIX + name, help, labels=labels)
    found = {key[1 : 1 + len(labels)]: value for key, value in counted.items() if key.name == name}
    for of_labels, value in sorted((found or ({} if labels else {(): 0.0})).items()):
        family.add_metric(of_labels, value)
    return family


def histogram(name: str, help: str, counted: Mapping[Key, float]) -> HistogramMetricFamily:
    """What all workers have observed under a name, as a histogram."""
    bounds = [*(str(bound) for bound in BUCKETS[name]), INFINITE]
    in_buckets = [counted.get(Key(name, part=bound), 0.0) for bound in bounds]
    family = HistogramMetricFamily(PREFIX + name, help)
    family.add_metric((), list(zip(bounds, accumulate(in_buckets), strict=True)), counted.get(Key(name, part=SUM), 0.0))
    return family
