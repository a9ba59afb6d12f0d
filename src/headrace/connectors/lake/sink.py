"""A sink whose tasks write Parquet files to their final place, and whose driver commits those of an epoch at once."""

from __future__ import annotations

import posixpath
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from headrace import ports
from headrace.connectors.lake.epochs import Epochs
from headrace.connectors.lake.place import Place
from headrace.connectors.lake.staged import staged_rows
from headrace.connectors.reach import opened
from headrace.errors import HeadraceError
from headrace.points import point
from headrace.ports.options import wrong
from headrace.schema import Array, Map, Struct

_STAGING = "_headrace/staging"
# The part of a task's file name after the prefix: epoch, task, its attempt, then task and file.
_NAME = re.compile(r"-(\d+)-(\d+)-(.+)-\d+-\d+\.")


class TableSink(ports.Sink):
    """The life of the files that a sink's tasks write. A class declares the options and the way to write the table.

    With a key, they are in a staging folder, and the driver merges their net rows into the table. Else they are added to it as they are,
    and their names have their checkpoint and epoch.
    """

    place: Place
    # The name of the table in errors, its folder of files, and the types that cannot be partition columns, besides nested ones.
    kind: ClassVar[str]
    folder: ClassVar[str] = ""
    unparted: ClassVar[tuple[str, ...]]
    key: tuple[str, ...]
    partition_by: tuple[str, ...]
    schema: str
    properties: dict[str, str]

    @abstractmethod
    def _open_epochs(self, context: ports.SinkContext) -> Epochs[Any]: ...

    @abstractmethod
    def _file_system(self) -> Any:
        """The table's folder as a pyarrow file system, once the table exists."""

    @abstractmethod
    def _merged(self, paths: Sequence[str], *, whole: bool) -> Any:
        """The function that commits the net rows of these files by key; `whole`: instead of all rows of the table."""

    @abstractmethod
    def _added(self, files: Sequence[Mapping[str, Any]], *, whole: bool) -> Any:
        """The function that commits files as they are; `whole`: instead of all files of the table."""

    @property
    def _verb(self) -> str:
        return f"write.{self.connector}"

    def describe(self) -> str:
        by = f" by {', '.join(self.key)}" if self.key else ""
        parts = f", partitioned by {', '.join(self.partition_by)}" if self.partition_by else ""
        return f"{self.connector} {self.place.name}{by}{parts}"

    def check(self, columns: tuple[str, ...]) -> None:
        for name in self.partition_by:
            if name not in columns:
                raise wrong(f"{self._verb}: partition_by names `{name}`, which is not a column", f"the stream has: {', '.join(columns)}")

    def mark(self, context: ports.SinkContext) -> ports.Mark:
        return self._open_epochs(context).mark()

    def rewind(self, context: ports.SinkContext, mark: ports.Mark) -> ports.Rewind:
        return self._open_epochs(context).rewind(mark)

    def may_open(self, context: ports.SinkContext) -> None:
        self._open_epochs(context).may_claim(context.schema, partition_by=list(self.partition_by), add=self.schema == "add")

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        spelled = {name.lower(): name for name in context.schema.names}
        self._by = [spelled[name.lower()] for name in self.key]
        self._epochs = self._open_epochs(context)
        self._epochs.claim(context.schema, partition_by=list(self.partition_by), properties=self.properties, add=self.schema == "add")
        opened(context.session, self.stage()["folder"])
        self._files = self._file_system()

    def recover(self) -> None:
        from pyarrow.fs import FileSelector, FileType

        # First the list, then the check of the owner: the list has no files of a process that takes over later.
        staged = [info.path for info in self._files.get_file_info(FileSelector(_STAGING, allow_not_found=True))]
        inside = FileSelector(self.folder, recursive=bool(self.partition_by), allow_not_found=True)
        files = [info.path for info in self._files.get_file_info(inside) if info.type == FileType.File]
        self._context.held()
        self._epochs.check_term()
        self._forget(*staged, *self._left(files))

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        if not (staged.count or staged.whole):
            return
        paths = [file["path"] for file in staged.files]
        mark = ports.Mark(epoch, staged.identity)
        write = self._merged(paths, whole=staged.whole) if self.key else self._added(staged.files, whole=staged.whole)
        done = self._epochs.transact(mark, write)
        point("in sink commit", self._context.name)
        if self.key:
            # Only its own folders: another process may have replaced this one a moment ago, and be at work there.
            self._forget(*{posixpath.dirname(path) for path in paths})
        elif not done:
            self._forget(*(posixpath.join(self.folder, path) for path in paths))

    def _left(self, files: Sequence[str]) -> list[str]:
        """The files of epochs without a commit, and of task attempts that their epoch's commit did not use."""
        last = self._epochs.state.mark.epoch
        tasks: dict[tuple[int, str], dict[str, list[str]]] = {}
        for path in files:
            name = posixpath.basename(path)
            if name.startswith(self._prefix) and (match := _NAME.match(name, len(self._prefix))):
                tasks.setdefault((int(match[1]), match[2]), {}).setdefault(match[3], []).append(path)
        left = [path for (epoch, _), attempts in tasks.items() if epoch > last for paths in attempts.values() for path in paths]
        # Most tasks have one attempt: the log is read only for those with more.
        doubtful = {task: attempts for task, attempts in tasks.items() if task[0] <= last and len(attempts) > 1}
        named = self._epochs.named({epoch for epoch, _ in doubtful}) if doubtful else set()
        for attempts in doubtful.values():
            spare = [paths for paths in attempts.values() if not any(posixpath.basename(path) in named for path in paths)]
            if len(spare) < len(attempts):
                left += [path for paths in spare for path in paths]
        return left

    @property
    def _prefix(self) -> str:
        """The prefix of this sink's file names."""
        return f"part-{self._context.checkpoint_id[:12]}-{re.sub(r'[^0-9A-Za-z]', '_', self._context.query)}"

    def _net(self, paths: Sequence[str]) -> Callable[[], Any]:
        """The net rows of an epoch, read on first use."""
        return cache(lambda: staged_rows(self._files, paths, self._by, self._context.schema))

    def suits(self, name: str, schema: Struct) -> None:
        for option, names in (("key", self.key), ("partition_by", self.partition_by)):
            for column in names:
                kind = schema.get(column)
                if isinstance(kind, Struct | Array | Map) or (option == "partition_by" and kind is not None and kind.text in self.unparted):
                    raise HeadraceError(
                        "WRONG_TYPE",
                        f"{name}: column {column} of type {kind.text} cannot be in {option} of {self.kind}",
                        hint=f'choose other columns, or convert it: with_columns({column}_text="to_json({column})")',
                    )

    def _forget(self, *paths: str) -> None:
        """Remove files or folders that are no longer needed, if they exist."""
        from pyarrow.fs import FileType

        for info in self._files.get_file_info(list(paths)):
            if info.type == FileType.Directory:
                self._files.delete_dir(info.path)
            elif info.type == FileType.File:
                self._files.delete_file(info.path)
