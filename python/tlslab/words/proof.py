"""The sentences of runs of the kind `proof`."""

from tlslab.words.sentence import Sentences

SENTENCES: Sentences = {}
