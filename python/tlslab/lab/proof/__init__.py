"""How two configurations of one server are put to the proof."""
