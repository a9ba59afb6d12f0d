"""hr.export_savepoint and hr.import_savepoint: savepoints as files that other programs and other machines can read."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.engine.loading import refuse_while_loading
from headrace.engine.state import stored_job
from headrace.jvm.share import checked, sharing
from headrace.settings import settings
from headrace.spark.checkpoint.savepoints import savepoint
from headrace.spark.portable.contents import Portable, contents
from headrace.spark.portable.exporting import export
from headrace.spark.portable.importing import restore


def export_savepoint(checkpoint: str | os.PathLike[str], name: str, to: str | os.PathLike[str], *, share: float | None = None) -> Portable:
    """Writes a savepoint as a [portable one](../../guides/checkpoints.md#portable-savepoints), as `headrace savepoint export` does.

    The job may run meanwhile.

    Args:
        checkpoint: The checkpoint that has the savepoint.
        name: The name of the savepoint.
        to: The folder to write. It must not exist.
        share: As for `Job.deploy`: the part of the time for which each task works, to leave the cores to a job that runs.

    Raises:
        CheckpointError: `UNKNOWN_SAVEPOINT`; `SAVEPOINT_EXISTS` if the folder exists; `STATE_UNREADABLE`; `NOT_A_CHECKPOINT`;
            `CHECKPOINT_IN_USE` if another process writes it.
        ConfigError: `BAD_SETTING` for an invalid `share`.
        ConnectorError: `FOLDER_NOT_WRITABLE`.

    Examples:
        With the job of [`hr.Portable`](#Portable):

        >>> portable = hr.export_savepoint(".headrace/moves", "before-the-move", "/mnt/share/moves")  # doctest: +SKIP
    """
    refuse_while_loading("hr.export_savepoint")
    checked(share)
    folder = Path(checkpoint).absolute()
    stored_job(folder)
    with sharing(share):
        return export(savepoint(folder, name), Path(to))


def import_savepoint(
    folder: str | os.PathLike[str], *, checkpoint: str | os.PathLike[str] | None = None, partitions: int | None = None
) -> Path:
    """Makes a checkpoint from a portable savepoint, as `headrace savepoint import` does. Returns its folder, from which a run continues.

    Args:
        folder: The folder of the portable savepoint.
        checkpoint: The checkpoint to make. Default: the setting `checkpoint`, else `.headrace/NAME` for the name of the job.
        partitions: The tasks of each [level](../../concepts/levels.md), 1 to 100,000. Default: the setting, else as before.

    Raises:
        CheckpointError: `UNKNOWN_SAVEPOINT` if the folder has none; `CHECKPOINT_EXISTS` if there is a checkpoint already;
            `CHECKPOINT_UNREADABLE` if a file is not what was exported; `CHECKPOINT_FORMAT`; `PARTITIONS_CHANGED` and `EPOCH_UNFINISHED` if
            another number of partitions is not possible; `CHECKPOINT_UNUSABLE` if the checkpoint cannot be written; `CHECKPOINT_IN_USE`.
        ConfigError: `BAD_SETTING` for an invalid number of partitions.

    Examples:
        With the portable savepoint of [`hr.Portable`](#Portable):

        >>> hr.import_savepoint("/mnt/share/moves", partitions=8)  # doctest: +SKIP
        PosixPath('/srv/.headrace/moves')
    """
    refuse_while_loading("hr.import_savepoint")
    chosen = settings(contents(Path(folder)).portable.job, checkpoint=checkpoint, partitions=partitions)
    restore(Path(folder), chosen.checkpoint, chosen.partitions)
    return chosen.checkpoint.absolute()
