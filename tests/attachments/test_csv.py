"""CSV files as typed rows."""

import timeit

import pytest

from askbus.attachments.csv_table import delimiter_of, read_table
from askbus.attachments.csv_types import type_column
from askbus.errors import InvalidInput

pytestmark = pytest.mark.requirement("C31")


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-20", ""], "integer", [1, -20, None]),
        (["0", "999999999999999"], "integer", [0, 999999999999999]),
        (["007", "8"], "text", ["007", "8"]),
        (["4711000000000012", "1"], "text", ["4711000000000012", "1"]),
        (["12345678901234567890"], "text", ["12345678901234567890"]),
        (["+4930123"], "text", ["+4930123"]),
        (["1.50", "20"], "decimal", ["1.50", "20"]),
        (["1,50", "-20"], "decimal", ["1.50", "-20"]),
        (["1.234,50", "7"], "decimal", ["1234.50", "7"]),
        (["1,234.50", "7"], "decimal", ["1234.50", "7"]),
        (["1.234", "5.678"], "text", ["1.234", "5.678"]),
        (["1,234"], "text", ["1,234"]),
        (["1.234", "5.5"], "decimal", ["1.234", "5.5"]),
        (["1.5", "1,5"], "text", ["1.5", "1,5"]),
        (["1e5"], "text", ["1e5"]),
        (["5 %"], "text", ["5 %"]),
        (["true", "FALSE"], "boolean", [True, False]),
        (["yes"], "text", ["yes"]),
        (["2026-02-01"], "date", ["2026-02-01"]),
        (["2026-02-30"], "text", ["2026-02-30"]),
        (["01.02.2026", "28.2.2026"], "date", ["2026-02-01", "2026-02-28"]),
        (["01/02/2026"], "text", ["01/02/2026"]),
        (["01/02/2026", "31/12/2026"], "date", ["2026-02-01", "2026-12-31"]),
        (["01/02/2026", "12/31/2026"], "date", ["2026-01-02", "2026-12-31"]),
        (["31/12/2026", "12/31/2026"], "text", ["31/12/2026", "12/31/2026"]),
        (["2026-02-01 10:00", "2026-02-01T10:00:30Z"], "timestamp", ["2026-02-01T10:00:00", "2026-02-01T10:00:30+00:00"]),
        (["", " "], "text", [None, None]),
        (["٣"], "text", ["٣"]),
    ],
)
def test_a_column_is_typed_where_nothing_is_lost(cells: list[str], kind: str, values: list[object]) -> None:
    """All cells agree and there is one way to read them; otherwise the text stays."""
    column = type_column("x", cells)
    assert (column.kind, [column.value(cell) for cell in cells]) == (kind, values)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a\n1\n", ","),
        ('"x;y",b\n"1;2",3\n', ","),
    ],
)
def test_the_delimiter_is_the_one_that_makes_rows_equal(text: str, delimiter: str) -> None:
    """Commas inside German numbers and semicolons inside quotes are none."""
    assert delimiter_of(text) == delimiter


def test_quotes_line_breaks_and_short_rows_are_read_as_people_write_them() -> None:
    """What was missing is null, and a reader is told of it."""
    table = read_table('name,note,n\r\n"Zoë ""Z""","two\nlines",1\r\nAda,,2\r\n\r\nMax\r\n')
    assert table.window(0, 9) == [['Zoë "Z"', "two\nlines", 1], ["Ada", None, 2], ["Max", None, None]]
    assert table.window(1, 1) == [["Ada", None, 2]]
    assert "1 of 3 rows" in table.notes[0]


def test_a_file_without_a_header_gets_names() -> None:
    """Its first row is a row."""
    table = read_table("1;Ada\n2;Zoë\n")
    assert ([column.name for column in table.columns], len(table.rows)) == (["column_1", "column_2"], 2)
    assert table.notes == ("The file has no header; the columns were given names.",)


def test_one_long_row_among_many_short_ones_costs_itself_alone() -> None:
    """A hundred thousand rows of one cell, and one of five hundred: fifty million cells that are not there are not looked at."""
    text = "n\n" + "1\n" * 100_000 + ",".join(["2"] * 500) + "\n"
    seconds = min(timeit.repeat(lambda: read_table("n\n" + "1\n" * 100_000), number=1, repeat=2))
    assert timeit.timeit(lambda: read_table(text), number=1) < 10 * seconds
    table = read_table(text)
    assert len(table.columns) == 500
    assert table.window(99_999, 2) == [[1] + [None] * 499, [2] * 500]


@pytest.mark.parametrize("text", ["", "\n \n", ",".join("x" * 600)])
def test_what_is_no_table_is_refused(text: str) -> None:
    """With a sentence."""
    with pytest.raises(InvalidInput, match="CSV file"):
        read_table(text)
