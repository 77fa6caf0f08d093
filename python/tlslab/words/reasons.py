"""The sentences of codes that all kinds of runs have: reasons of verdicts, lacks of data."""

from tlslab.words.sentence import Sentences

SENTENCES: Sentences = {}
