"""Tables of other programs are read in every form, and ours are read by other programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import local2global as l2g

SOURCES = [0, 1, 2, 3, 3, 4]
TARGETS = [1, 2, 3, 0, 4, 5]

INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
IDS = [*INTEGERS, *(pa.dictionary(pa.int8(), kind) for kind in (pa.int64(), pa.uint16()))]
TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.uint8(), pa.large_string()),
]
WEIGHTS = [pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.uint64()]


def column(values: list, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        plain = pa.array(values, kind.value_type).dictionary_encode()
        return pa.DictionaryArray.from_arrays(plain.indices.cast(kind.index_type), plain.dictionary)
    if pa.types.is_float16(kind):
        return pa.array(np.array(values, np.float16))
    return pa.array(values, kind)


def edges(kind: pa.DataType, name=lambda number: number, **more: pa.Array) -> pa.Table:
    src, dst = ([name(number) for number in ends] for ends in (SOURCES, TARGETS))
    return pa.table({"src": column(src, kind), "dst": column(dst, kind), **more})


def file(table: pa.Table, folder: Path, **options) -> Path:
    pq.write_table(table, folder / "edges.parquet", **options)
    return folder / "edges.parquet"


@pytest.fixture(params=["stream", "file", "file in groups"])
def read(request, tmp_path: Path):
    def read(table: pa.Table) -> l2g.Graph:
        if request.param == "stream":
            return l2g.read_graph(table)
        groups = {"row_group_size": 2, "data_page_version": "2.0", "compression": "zstd"}
        return l2g.read_graph(
            file(table, tmp_path, **(groups if "groups" in request.param else {}))
        )

    return read


@pytest.mark.parametrize("kind", IDS, ids=str)
def test_ids_are_integers_of_any_kind(read, kind):
    graph = read(edges(kind))
    assert graph.nodes.tolist() == list(range(6))
    assert graph.edge_index.shape == (2, 12)


@pytest.mark.parametrize("kind", [pa.uint32(), pa.uint64()], ids=str)
def test_the_largest_unsigned_ids_stay_positive(read, kind):
    largest = 2**kind.bit_width - 1
    graph = read(edges(kind, lambda number: largest - number))
    assert [int(node) for node in graph.nodes] == [largest - number for number in range(5, -1, -1)]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_ids_are_text_of_any_kind(read, kind):
    graph = read(edges(kind, lambda number: f"näme {number}"))
    assert sorted(graph.nodes.tolist()) == [f"näme {number}" for number in range(6)]


@pytest.mark.parametrize("kind", WEIGHTS, ids=str)
def test_weights_are_numbers_of_any_kind(read, kind):
    graph = read(edges(pa.int64(), weight=column([1, 2, 3, 4, 5, 6], kind)))
    assert sorted(graph.edge_weight.tolist()) == sorted(2 * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def test_other_columns_do_not_matter(read):
    strange = pa.array([{"a": 1, "b": [None]}] * 6)
    assert read(edges(pa.int64(), strange=strange)).nodes.tolist() == list(range(6))


def test_what_cannot_be_read_is_named(read):
    table = edges(pa.int64())
    decimal = table.set_column(1, "dst", table["dst"].cast(pa.decimal128(20, 0)))
    with pytest.raises(
        l2g.Local2GlobalError,
        match=r"column `dst`: column has type \w+\(20, 0\), needed integers or text",
    ):
        read(decimal)
    hole = table.set_column(1, "dst", pa.array([1, 2, None, 3, 4, 5]))
    with pytest.raises(l2g.Local2GlobalError, match="column `dst`: row 2 is empty"):
        read(hole)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
def test_files_are_packed_in_many_ways(codec, tmp_path: Path):
    table = edges(pa.int64())
    assert l2g.read_graph(file(table, tmp_path, compression=codec)).nodes.tolist() == list(range(6))
    encoding = {"src": "DELTA_BINARY_PACKED", "dst": "BYTE_STREAM_SPLIT"}
    path = file(table, tmp_path, compression=codec, use_dictionary=False, column_encoding=encoding)
    assert l2g.read_graph(path).nodes.tolist() == list(range(6))


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float32()),
        pa.large_list(pa.float64()),
        pa.list_(pa.float32(), 3),
        pa.list_(pa.int8()),
    ],
    ids=str,
)
@pytest.mark.parametrize("nested", [True, False])
def test_features_are_lists_of_any_kind(kind, nested, tmp_path: Path):
    rows = [[number, 2 * number, 1] for number in range(6)]
    table = pa.table({"id": pa.array(range(6)), "x": pa.array(rows, kind)})
    pq.write_table(
        table, tmp_path / "x.parquet", use_compliant_nested_type=nested, row_group_size=4
    )
    graph = l2g.read_graph(edges(pa.int64()), features=tmp_path / "x.parquet")
    assert graph.features.tolist() == rows


def test_arrow_reads_vectors_as_lists_of_fixed_size(exported: Path):
    table = pq.read_table(exported / "export" / "embedding.parquet")
    assert table.column_names == ["id", "vector"]
    assert table.schema.field("id").type in (pa.int64(), pa.string())
    vector = table.schema.field("vector")
    assert vector.type == pa.list_(pa.field("element", pa.float32(), nullable=False), 4)
    assert not vector.nullable
    assert not table.schema.field("id").nullable
    vectors = np.stack(table["vector"].to_numpy(zero_copy_only=False))
    assert np.array_equal(vectors, np.load(exported / "5-alignment" / "embedding.npy"))


def test_polars_reads_vectors(exported: Path):
    table = pl.read_parquet(exported / "export" / "embedding.parquet")
    assert table.columns == ["id", "vector"]
    assert table.height == 40
    vectors = np.array(table["vector"].to_list(), np.float32)
    assert np.array_equal(vectors, np.load(exported / "5-alignment" / "embedding.npy"))


def test_parquet_itself_knows_the_vectors_as_plain_lists(exported: Path):
    schema = pq.ParquetFile(exported / "export" / "embedding.parquet").schema
    assert schema.column(1).path == "vector.list.element"
    assert (schema.column(1).max_definition_level, schema.column(1).max_repetition_level) == (1, 1)
