"""The training engine that the recipes share.

A recipe describes its task by a `Config`, the settings, and a `Task`, what is
built, fed, minimized and measured. `main()` makes a program of them.
"""

from trainer.command import main
from trainer.config import Config
from trainer.config import setting
from trainer.errors import TrainingError
from trainer.task import Task
