"""Plain data that all stages share: frozen dataclasses, no input or output.

`names` (what TLS calls things), `profile` and `workload` (what one run asks for), `experiment` and
`plan` (what is to be done), `record` (what happened), `run` (a run folder's content), `finding`
(what it means), `history` (what changed over many runs), `wording` (how it is said), `plain` (text
from outside, sanitised), `errors` (what can go wrong for a user).
"""
