"""The report of a training run: one HTML file that needs nothing else.

`write()` makes the report of a run, `compare()` a page of several runs.
"""

from training.report.comparison import compare
from training.report.page import write
