"""Kaggle's own packages away from Kaggle: attached data sets are local folders, secrets variables.

On Kaggle the real packages are there, and these are not used.
"""
