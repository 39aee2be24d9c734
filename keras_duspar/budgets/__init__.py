"""Compute budgets: training that brings a model to a given occupancy."""
