"""Runs that compare two configurations of one server."""
