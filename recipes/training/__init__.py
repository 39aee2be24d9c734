"""The training engine that the recipes share.

A recipe describes its task by a `Config`, the settings, and a `Task`, what is
built, fed, minimised and measured. `main()` makes a program of them.
"""

from training.command import main
from training.config import Config
from training.config import setting
from training.errors import TrainingError
from training.task import Task
