"""Jobs of the fault matrix: a file each, which makes one job. `headrace certify` kills copies of it at every point."""
