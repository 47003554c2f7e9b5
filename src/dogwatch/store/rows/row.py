"""A row of a table as a typed value: its fields are the columns, in the order they are written.

A subclass of Row is the table. `str`, `float`, `int`, `bool` and `bytes` are kept as such, anything else
as JSON; a cell is decoded when its field is read, so that `dogwatch ls` needs no JSON reader.
"""

from __future__ import annotations

from dogwatch.store.rows.encoding import decode_json, decode_text, encode_float, encode_int, encode_json, encode_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Self, TypeAlias, dataclass_transform

    Json: TypeAlias = Any
    Cell: TypeAlias = str | int | float | bytes | None
    Cells: TypeAlias = tuple[Any, ...]
else:

    def dataclass_transform(**how):
        return lambda kind: kind


REMEDY = "`dogwatch doctor` says what can be restored"
_ENCODE: dict[str, Callable[[Any], Any]] = {
    "str": encode_text,
    "float": encode_float,
    "int": encode_int,
    "bool": int,
    "bytes": bytes,
    "json": encode_json,
}
_DECODE: dict[str, Callable[[Any], Any]] = {"str": decode_text, "bool": bool, "json": decode_json}


class _Column:
    """Reads one cell of a row."""

    def __init__(self, at: int, decode: Callable[[Any], Any] | None) -> None:
        self._at, self._decode = at, decode

    def __get__(self, row: Row, owner: type[Row]) -> Any:
        cell = row.cells[self._at]
        return cell if cell is None or self._decode is None else self._decode(cell)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Row:
    """A row; never changed, only replaced. The first column is the key, `label` is what a person knows it by, `parts`
    are conditions for those rows that somebody still waits for; `hashed` rows carry a piece of evidence of their
    own."""

    TABLE: ClassVar[str]
    COLUMNS: ClassVar[dict[str, str]]
    NAMES: ClassVar[tuple[str, ...]]
    LISTED: ClassVar[str]
    KEY: ClassVar[str]
    LABEL: ClassVar[int]
    PARTS: ClassVar[dict[str, str]]
    HASHED: ClassVar[bool]
    _DEFAULTS: ClassVar[dict[str, Cell]]
    _AT: ClassVar[dict[str, int]]
    cells: ClassVar[Cells]  # of the instance; said so, lest it be taken for a column

    def __init_subclass__(cls, *, table: str, label: str, hashed: bool = False, **parts: str) -> None:
        hints: dict[str, str] = cls.__dict__["__annotations__"]  # noqa: RUF063 - `inspect` is too dear for `ls`
        kinds = {name: hint.partition(" ")[0] for name, hint in hints.items()}
        cls.COLUMNS = {name: kind if kind in _ENCODE else "json" for name, kind in kinds.items()}
        cls.TABLE, cls.NAMES, cls.LISTED = table, tuple(hints), ", ".join(hints)
        cls.HASHED, cls.PARTS, cls._AT = hashed, parts, {name: at for at, name in enumerate(hints)}
        cls.KEY, cls.LABEL = cls.NAMES[0], cls.NAMES.index(label)
        cls._DEFAULTS = {name: cls.__dict__[name] for name in hints if name in cls.__dict__}
        for at, (name, kind) in enumerate(cls.COLUMNS.items()):
            setattr(cls, name, _Column(at, _DECODE.get(kind)))

    if not TYPE_CHECKING:

        def __init__(self, **values):
            strange = values.keys() - self.COLUMNS.keys()
            if strange:
                raise TypeError(f"{self.TABLE} has no column {min(strange)}")
            given = {**self._DEFAULTS, **values}
            self.cells = tuple(self.encoded(name, given[name]) for name in self.NAMES)

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """A row that was read."""
        row = cls.__new__(cls)
        row.__dict__["cells"] = cells
        return row

    @classmethod
    def encoded(cls, name: str, value: object) -> Any:
        """A value as the cell of a column."""
        return None if value is None else _ENCODE[cls.COLUMNS[name]](value)

    def changed(self, **fresh: object) -> dict[str, Cell]:
        """The cells that would differ from what they are, by column."""
        encoded = {name: self.encoded(name, value) for name, value in fresh.items()}
        return {name: cell for name, cell in encoded.items() if cell != self.cells[self._AT[name]]}

    def replaced(self, cells: Mapping[str, Cell]) -> Self:
        """This row with other cells in some columns."""
        values = list(self.cells)
        for name, cell in cells.items():
            values[self._AT[name]] = cell
        return self.of(tuple(values))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.cells == other.cells

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.NAMES)})"
