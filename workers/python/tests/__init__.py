"""Tests of the Python worker's own parts; what workers must do alike is in conformance/."""
