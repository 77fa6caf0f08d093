"""Metering: processor time, memory and energy of server and machine during a trial."""
