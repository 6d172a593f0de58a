"""A worker of contend in Python: it carries out plans and scripts through one driver. docs/formats.md is the contract."""
