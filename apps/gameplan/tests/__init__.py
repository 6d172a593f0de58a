"""Tests of the app, on SQLite and on private servers of MariaDB and PostgreSQL."""
