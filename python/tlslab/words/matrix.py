"""The sentences of runs of the kind `matrix`."""

from tlslab.words.sentence import Sentences

SENTENCES: Sentences = {}
