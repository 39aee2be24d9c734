"""Hostile input to the Python side."""
