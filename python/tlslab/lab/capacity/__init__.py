"""Runs of the kind `capacity`: each cell step by step, as the planner says."""
