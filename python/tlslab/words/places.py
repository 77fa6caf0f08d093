"""The names of servers in sentences."""

from tlslab.domain.finding import Values
from tlslab.domain.wording import cell_label, level_label, number_word

# The lab's own server in a sentence.
_REFERENCE = {
    "reference": "the reference server",
    "reference-rustls": "the reference server on rustls",
}


def on_server(values: Values) -> str:
    """The server and its size: `on one processor of nginx (TLS 1.3, ECDSA P-256)`."""
    setting = values["setting"]
    if not values["server"]:
        rest = {name: level for name, level in setting.items() if name != "server"}
        host = level_label("server", setting.get("server", values["host"]))
        return f"on {host} ({cell_label(rest)})"
    said = {"server", "front", "processors"}
    rest = {name: level for name, level in setting.items() if name not in said}
    where = f" ({cell_label(rest)})" if rest or not setting else ""
    name, count = server_name(values["server"]), values["processors"]
    if not count:
        return f"on {name}{where}"
    plural = "processor" if count == 1 else "processors"
    return f"on {number_word(count)} {plural} of {name}{where}"


def server_name(name: str) -> str:
    """A managed server in a sentence: `the reference server`, `nginx behind haproxy`."""
    front, plus, back = name.partition("+")
    names = [_REFERENCE.get(each, each) for each in (back, front)]
    return " behind ".join(names) if plus else names[1]
