"""Measures MPI libraries against each other on one machine, alternating in one run.

plan.py says what is measured, implementations.py what runs it, measure.py alternates and takes medians,
goals.py holds the project's goals, report.py and picture.py show the result.
"""
