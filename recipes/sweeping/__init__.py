"""Many trainings on Ray: the grid, the trials, the table of results."""
