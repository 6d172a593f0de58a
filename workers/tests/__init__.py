"""Tests of the workers in Python and PHP as the tool meets them: what conformance cases cannot say."""
