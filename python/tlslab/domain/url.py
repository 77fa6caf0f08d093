"""URLs of servers, in one form."""

from urllib.parse import urlsplit

SCHEME = "https://"


def is_url(server: str) -> bool:
    """Whether a server is named by a URL; otherwise by the name of a managed target."""
    return "://" in server


def canonical(url: str) -> str:
    """The URL with scheme and host in lower case, and at least `/` as its path.

    Equal servers have equal texts this way (RFC 3986, 6.2.2.1 and 6.2.3).
    """
    scheme, _, after = url.partition("://")
    place = urlsplit(url).netloc
    user, sign, host = place.rpartition("@")
    return f"{scheme.lower()}://{user}{sign}{host.lower()}{after[len(place) :] or '/'}"


def short(url: str) -> str:
    """The URL without its scheme, and without the path `/` of a bare origin: `localhost:8443`."""
    rest = url.removeprefix(SCHEME)
    return rest[:-1] if rest.endswith("/") and rest.count("/") == 1 else rest
