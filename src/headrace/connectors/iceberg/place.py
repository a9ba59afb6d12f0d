"""An Iceberg table by its catalog and name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.lake import place as lake
from headrace.connectors.lake.stores import Options, hadoop, options_of, revealed
from headrace.errors import ConnectorError
from headrace.masking import masked_problem
from headrace.ports import Packages
from headrace.ports.options import wrong

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

NEEDS = Packages(modules=("pyiceberg", "pyarrow"), extra="iceberg", name="iceberg")
_EXAMPLE = '{"type": "sql", "uri": "sqlite:///catalog.db", "warehouse": "file:///data/warehouse"}'


@dataclass(frozen=True)
class Place:
    """A table's full name, and the properties of its catalog for pyiceberg."""

    name: str
    options: Options

    def catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        try:
            settings = self._settings()
            # A SQL catalog stores its tables under its name, and pyiceberg's configuration may have more settings for that name.
            return load_catalog(settings.pop("name", "default"), **settings)
        except Exception as problem:
            raise self.unreadable(problem) from masked_problem(problem)

    def table(self, catalog: Catalog | None = None) -> Table:
        """The current table. `catalog`: an open catalog to use instead of a new one."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        catalog = catalog or self.catalog()
        try:
            return catalog.load_table(self.name)
        except (NoSuchTableError, NoSuchNamespaceError):
            raise lake.missing(f"the catalog has no Iceberg table {self.name}") from None
        except FileNotFoundError:
            hint = "restore them, or drop the table from the catalog"
            raise lake.missing(f"the catalog has the Iceberg table {self.name}, but its files are gone", hint) from None
        except Exception as problem:
            raise self.unreadable(problem) from masked_problem(problem)

    def exists(self, catalog: Catalog) -> bool:
        """Whether the table exists; False if the catalog still has it but its files are gone."""
        try:
            return bool(catalog.table_exists(self.name))
        except FileNotFoundError:
            return False
        except Exception as problem:
            raise self.unreadable(problem) from masked_problem(problem)

    def _settings(self) -> dict[str, str]:
        """The properties, with a local warehouse as an absolute path: its tables then have the same location wherever they are read."""
        properties = revealed(self.options)
        warehouse = properties.get("warehouse")
        return {**properties, "warehouse": f"file://{os.path.abspath(warehouse)}"} if warehouse and "://" not in warehouse else properties

    def unreadable(self, problem: Exception) -> ConnectorError:
        return lake.unreadable(self, problem, "check the name, and the address and options of the catalog")


def files(table: Table) -> Any:
    """The table's folder as a pyarrow file system."""
    from pyarrow import fs

    scheme, mark, rest = table.location().partition("://")
    if not mark or scheme == "file":
        return fs.SubTreeFileSystem(rest if mark else scheme, fs.LocalFileSystem())
    from pyiceberg.io.pyarrow import PyArrowFileIO

    host, _, path = rest.partition("/")
    return fs.SubTreeFileSystem(f"{host}/{path}", PyArrowFileIO(table.io.properties).fs_by_scheme(scheme, host))


def folder(table: Table) -> str:
    """The table's folder as Spark takes it."""
    return hadoop(table.location())


def name_of(verb: str, option: str, table: Any) -> str:
    """The full name of a table."""
    if not isinstance(table, str) or "." not in table.strip("."):
        raise wrong(f"{verb}: the table cannot be {table!r}", 'it is a name in a namespace: "db.charges"')
    return table


def catalog_of(verb: str, option: str, catalog: Any) -> Options:
    """The properties of a catalog that a user gave."""
    options = options_of(verb, option, catalog, _EXAMPLE)
    if not options:
        raise wrong(f"{verb}: catalog= is required", f"catalog={_EXAMPLE}")
    return options


def place(verb: str, table: Any, catalog: Mapping[str, Any]) -> Place:
    """The place that a user gave."""
    return Place(name_of(verb, "table", table), catalog_of(verb, "catalog", catalog))
