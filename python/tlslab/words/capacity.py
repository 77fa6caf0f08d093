"""The sentences of runs of the kind `capacity`."""

from tlslab.words.sentence import Sentences

SENTENCES: Sentences = {}
