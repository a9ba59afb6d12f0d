"""A job's checkpoint: its folder, its lease, the record and history of its epochs, and whether all of it is whole and fits the job."""
