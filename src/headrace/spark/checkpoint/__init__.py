"""A job's checkpoint: its folder, its lease, the record and history of its epochs, and checks that it is undamaged and fits the job."""
