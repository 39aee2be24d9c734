"""Pages about runs and sweeps: single HTML files that need no network."""
