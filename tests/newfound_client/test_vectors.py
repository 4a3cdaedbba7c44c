"""Vectors from Python: with rows, for documents that are there, and from a file."""

from pathlib import Path

import numpy as np
import pytest

from newfound_client import Client, Refused

VECTORS = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], np.float32)


def test_vectors_are_sent_with_rows_or_afterwards_as_lists_arrays_or_a_file(client: Client, tmp_path: Path) -> None:
    corpus_id = client.create_corpus("vectors")["id"]
    rows = [{"key": "a", "text": "galaxy", "vector": VECTORS[0]}, {"key": "b", "text": "star"}]
    assert client.upload(corpus_id, rows)["vectors"] == 1
    assert client.corpus(corpus_id)["vectors"] == {"documents": 1, "length": 4}
    assert client.put_vectors(corpus_id, ["a", "b"], VECTORS)["changed"] == 1
    told = client.put_vectors(corpus_id, ["a", "b"], [None, [1, 2, 3, 4]])
    assert (told["removed"], told["changed"]) == (1, 1)
    np.savez(tmp_path / "vectors.npz", keys=np.array(["a", "x"]), vectors=VECTORS)
    told = client.put_vectors(corpus_id, tmp_path / "vectors.npz")
    assert (told["format"], told["changed"], told["rejected"]) == ("npz", 1, 1)
    with pytest.raises(Refused, match="the key 'x'"):
        client.put_vectors(corpus_id, ["x"], VECTORS[:1], on_error="abort")
    assert client.delete_vectors(corpus_id)["removed"] == 2
    assert [row["has_vector"] for row in client.corpus_documents(corpus_id)] == [False, False]
