"""Occupancy and products of a model on data."""

from keras_duspar.profiling.costs import register_cost
from keras_duspar.profiling.profile import Profiler
from keras_duspar.profiling.profile import profile
from keras_duspar.profiling.report import LayerProfile
from keras_duspar.profiling.report import Profile
from keras_duspar.utils.tables import text_table
