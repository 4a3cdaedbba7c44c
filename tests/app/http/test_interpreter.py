"""The interpreter of the API's process."""

import subprocess
import sys

PROGRAM = """
import gc
import json
from app.core.loading import loading
from app.http.interpreter import calm

with loading():
    import app.http.main
    before = len(gc.get_objects())
calm()
after = len(gc.get_objects())
kept = [[] for _ in range(1000)]
print(before, after, gc.get_freeze_count(), len(gc.get_objects()))

collections = 0
def count(phase, _):
    global collections
    collections += phase == "start"

gc.callbacks.append(count)
json.loads("[" + ",".join(["[]"] * 300_000) + "]")
print(collections)
"""


def test_collections_are_few_and_look_at_nothing_that_was_loaded_before() -> None:
    """In a process of its own: what is frozen is never collected again."""
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, after, frozen, at_last, n_collections = map(int, answer.stdout.split())
    assert before > 50_000
    assert frozen > before / 2
    assert after < 1000
    assert 1000 < at_last < 3000, "what comes later is looked at"
    assert n_collections < 20, "while a line is read there is no garbage to look for"
