"""Runs of the kind `capacity`: the planner derives each cell's steps."""
