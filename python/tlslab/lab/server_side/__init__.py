"""The processor time of a server that the lab did not start, here or on another host."""
