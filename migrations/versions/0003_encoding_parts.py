"""Encoded corpora in parts: a large one is larger than a value of a database may be."""

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


# SQLite numbers rows by itself only in a column of type INTEGER, which holds 64 bits there.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

READ_BYTES = 2**20  # of an old value at once
PIECE_BYTES = 2**22  # of a part before compression
WIDTH = {"<i4": 4, "<i8": 8}
ALIGNMENT = 8  # bytes; in parts each array is filled up to a multiple of it

# Before: magic, length of a JSON header, header, the arrays in one zlib stream, CRC-32 of it all.
MAGIC = b"newfound"
NUMBER_BYTES = 4
HEADER = {"format": 1, "facts": {}}

metadata = sa.MetaData()
encodings = sa.Table(
    "encodings",
    metadata,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("n_documents", sa.Integer()),
    sa.Column("n_tokens", sa.BigInteger()),
    sa.Column("data", sa.LargeBinary()),
    sa.Column("digest", sa.String(64)),
)
parts = sa.Table(
    "encoding_parts",
    metadata,
    sa.Column("encoding_id", ROW_ID, primary_key=True),
    sa.Column("number", sa.Integer(), primary_key=True),
    sa.Column("data", sa.LargeBinary()),
)


def upgrade() -> None:
    """Move each encoding into parts, a piece at a time, and drop its column in place (see 0002)."""
    op.create_table(
        "encoding_parts",
        sa.Column("encoding_id", ROW_ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["encoding_id"], ["encodings.id"], name=op.f("fk_encoding_parts_encoding_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("encoding_id", "number", name=op.f("pk_encoding_parts")),
    )
    op.add_column("encodings", sa.Column("digest", sa.String(length=64), nullable=True))
    connection = op.get_bind()
    for [encoding_id] in connection.execute(sa.select(encodings.c.id)).all():
        try:
            part(connection, encoding_id)
        except (ValueError, KeyError, zlib.error):  # damaged: the next job over this corpus encodes it anew
            connection.execute(sa.delete(parts).where(parts.c.encoding_id == encoding_id))
    op.drop_column("encodings", "data")


def part(connection: sa.Connection, encoding_id: int) -> None:
    """Cut an encoding into parts. Raises ValueError, KeyError or zlib.error if it is damaged."""
    hashed = hashlib.sha256()
    for number, piece in enumerate(cut(padded(*old_arrays(old_bytes(connection, encoding_id))))):
        hashed.update(piece)
        row = {"encoding_id": encoding_id, "number": number, "data": zlib.compress(piece, 1)}
        connection.execute(sa.insert(parts).values(row))
    mine = sa.update(encodings).where(encodings.c.id == encoding_id)
    connection.execute(mine.values(digest=hashed.hexdigest()))


def old_bytes(connection: sa.Connection, encoding_id: int) -> Iterator[bytes]:
    """An old value without the checksum at its end. Raises ValueError, at the end, if that does not match."""
    mine = encodings.c.id == encoding_id
    size = connection.scalars(sa.select(sa.func.length(encodings.c.data)).where(mine)).one() - NUMBER_BYTES
    checksum = 0
    for start in range(0, size, READ_BYTES):
        column = sa.func.substr(encodings.c.data, start + 1, min(READ_BYTES, size - start))
        chunk = bytes(connection.scalars(sa.select(column).where(mine)).one())
        checksum = zlib.crc32(chunk, checksum)
        yield chunk
    column = sa.func.substr(encodings.c.data, size + 1, NUMBER_BYTES)
    if bytes(connection.scalars(sa.select(column).where(mine)).one()) != checksum.to_bytes(NUMBER_BYTES, "little"):
        raise ValueError(f"encoding {encoding_id}: the checksum does not match")


def old_arrays(chunks: Iterator[bytes]) -> tuple[Iterator[bytes], list[int]]:
    """The bytes of the arrays one after the other, and the length of each."""
    first = next(chunks, b"")
    start = len(MAGIC) + NUMBER_BYTES
    end = start + int.from_bytes(first[len(MAGIC) : start], "little")
    arrays = json.loads(first[start:end])["arrays"]
    if [array["name"] for array in arrays] != ["words", "offsets", "labels", "document_ids"]:
        raise ValueError("these are not the arrays of an encoding")

    def inflated() -> Iterator[bytes]:
        stream = zlib.decompressobj()
        yield stream.decompress(first[end:])
        for chunk in chunks:
            yield stream.decompress(chunk)
        yield stream.flush()

    return inflated(), [array["shape"][0] * WIDTH[array["dtype"]] for array in arrays]


def padded(chunks: Iterator[bytes], sizes: list[int]) -> Iterator[bytes]:
    """The arrays, each filled up with zeros. Raises ValueError if they are not of these lengths."""
    held: bytes | None = b""
    for size in sizes:
        left = size
        while left > 0:
            if not held:
                held = next(chunks, None)
            if held is None:
                raise ValueError("the arrays end too early")
            taken, held = held[:left], held[left:]
            left -= len(taken)
            yield taken
        yield bytes(-size % ALIGNMENT)
    if held or any(chunks):
        raise ValueError("the arrays end too late")


def cut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, PIECE_BYTES at a time."""
    piece = bytearray()
    for chunk in chunks:
        piece += chunk
        while len(piece) >= PIECE_BYTES:
            yield bytes(piece[:PIECE_BYTES])
            del piece[:PIECE_BYTES]
    if piece:
        yield bytes(piece)


def downgrade() -> None:
    """Put each encoding together again, in memory; one that is not whole is left to the next job over its corpus."""
    connection = op.get_bind()
    # SQLite adds no column that must have a value without a default.
    op.add_column("encodings", sa.Column("data", sa.LargeBinary(), server_default=sa.text("''"), nullable=False))
    if connection.dialect.name == "postgresql":
        op.alter_column("encodings", "data", server_default=None)
    connection.execute(sa.delete(encodings).where(encodings.c.digest.is_(None)))
    for found in connection.execute(sa.select(encodings.c.id, encodings.c.n_tokens, encodings.c.n_documents)).all():
        data = old_value(stored_pieces(connection, found.id), found.n_tokens, found.n_documents)
        connection.execute(sa.update(encodings).where(encodings.c.id == found.id).values(data=data))
    op.drop_column("encodings", "digest")
    op.drop_table("encoding_parts")


def stored_pieces(connection: sa.Connection, encoding_id: int) -> Iterator[bytes]:
    """The pieces of an encoding, in order."""
    mine = sa.select(parts.c.number).where(parts.c.encoding_id == encoding_id).order_by(parts.c.number)
    for number in connection.scalars(mine).all():
        this = sa.select(parts.c.data).where(parts.c.encoding_id == encoding_id, parts.c.number == number)
        yield zlib.decompress(connection.scalars(this).one())


def old_value(pieces: Iterator[bytes], n_tokens: int, n_documents: int) -> bytes:
    """The value that held these arrays before."""
    shapes = {
        "words": ("<i4", n_tokens),
        "offsets": ("<i8", n_documents + 1),
        "labels": ("<i4", n_documents),
        "document_ids": ("<i8", n_documents),
    }
    described = [{"name": name, "dtype": dtype, "shape": [size]} for name, (dtype, size) in shapes.items()]
    header = json.dumps({**HEADER, "arrays": described}).encode()
    stream = zlib.compressobj(1)
    body = bytearray(MAGIC + len(header).to_bytes(NUMBER_BYTES, "little") + header)
    held = bytearray()
    for dtype, size in shapes.values():
        n_bytes = size * WIDTH[dtype]
        while len(held) < -(-n_bytes // ALIGNMENT) * ALIGNMENT:
            held += next(pieces)
        body += stream.compress(held[:n_bytes])
        del held[: -(-n_bytes // ALIGNMENT) * ALIGNMENT]
    body += stream.flush()
    return bytes(body) + zlib.crc32(body).to_bytes(NUMBER_BYTES, "little")
