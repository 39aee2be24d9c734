"""What every room needs: checks, docstrings, tables, files. It imports none."""
