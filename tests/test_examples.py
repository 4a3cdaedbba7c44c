"""The examples do what they show."""

import re

import pytest

from examples import sampler_alone


def test_the_sampler_alone_finds_the_subjects_of_the_sample_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    sampler_alone.main()
    output = capsys.readouterr().out
    shares = {int(n): int(share) for n, share in re.findall(r"(\d+) categories in +(\d+)% of the draws", output)}
    assert max(shares, key=shares.__getitem__) == 10, "six subjects are known, four are new"
    assert sum(shares.values()) == pytest.approx(100, abs=len(shares) / 2)  # each is rounded
    sizes = dict(re.findall(r"^(\S.*?) +(\d+) documents: \w+", output, re.MULTILINE))
    assert {"Astronomy", "Robotics", "new 1", "new 4"} <= sizes.keys()
    assert sum(map(int, sizes.values())) == 2_000
    assert float(output.split()[-1]) > 0.8
