"""Tests of the workers from the tool's side: behaviour that conformance cases cannot express."""
