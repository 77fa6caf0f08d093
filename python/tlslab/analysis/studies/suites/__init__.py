"""The suites study: which cipher suite, which Diffie-Hellman size?

`places` gathers the cells of one server and version of HTTP. `figures` and `tables` show them.
`orders` compares orders of suites with each other and with a published one. `diffie_hellman`
computes the cost of the size of the parameters. Handshakes and requests on connections kept open
are measured in separate runs and never mixed.
"""

from tlslab.analysis.studies.suites.study import SuitesStudy, is_suites_study, suites_study

__all__ = ["SuitesStudy", "is_suites_study", "suites_study"]
