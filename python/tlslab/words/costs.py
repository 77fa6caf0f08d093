"""The sentences of runs of the kind `costs`."""

from tlslab.words.sentence import Sentences

SENTENCES: Sentences = {}
