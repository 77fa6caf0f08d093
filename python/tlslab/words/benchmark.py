"""The sentences of runs of the kind `benchmark`."""

from tlslab.words.sentence import Sentences

SENTENCES: Sentences = {}
