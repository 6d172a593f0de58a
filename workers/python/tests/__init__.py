"""Tests of the Python worker's own parts; behaviour common to all workers is tested in conformance/."""
