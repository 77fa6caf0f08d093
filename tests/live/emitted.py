"""Starts the real server with an emitted file, unchanged, on a free loopback port."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tlslab.domain.levels import Levels
from tlslab.servers.apache import MODULE_FOLDERS
from tlslab.servers.base import Setting, pinned
from tlslab.servers.certificates import Authority, CertificateFiles
from tlslab.servers.configured import start_on_free_port
from tlslab.servers.process import ServerProcess
from tlslab.servers.tomcat import Tomcat

KEYS = ("ecdsa-p256", "rsa-2048")
JAVA_SERVER = Path(__file__).parent / "JsseServer.java"
START_S = 60.0


@dataclass(frozen=True)
class Place:
    """A private folder with the emitted file, and certificates."""

    folder: Path
    emitted: Path
    certificates: Sequence[CertificateFiles]

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def bundle(self) -> list[Path]:
        """Each certificate with its key in one file."""
        return [
            self.write(f"both-{number}.pem", each.certificate.read_text() + each.key.read_text())
            for number, each in enumerate(self.certificates)
        ]


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    assert found, f"{name} is missing: scripts/install-debian.sh installs it"
    return found


def nginx(place: Place, port: int) -> Sequence[str]:
    pairs = "".join(
        f"    ssl_certificate {each.certificate};\n    ssl_certificate_key {each.key};\n"
        for each in place.certificates
    )
    config = place.write(
        "nginx.conf",
        f"daemon off;\npid {place.folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n"
        f"  access_log off;\n  client_body_temp_path {place.folder}/body;\n  server {{\n"
        f"    listen 127.0.0.1:{port} ssl;\n{pairs}    include {place.emitted};\n  }}\n}}\n",
    )
    return [program("nginx"), "-e", "stderr", "-p", str(place.folder), "-c", str(config)]


def apache(place: Place, port: int) -> Sequence[str]:
    modules = next(f for f in MODULE_FOLDERS if (Path(f) / "mod_ssl.so").is_file())
    loaded = "".join(
        f"LoadModule {name}_module {modules}/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "socache_shmcb", "ssl")
    )
    pairs = "".join(
        f"  SSLCertificateFile {each.certificate}\n  SSLCertificateKeyFile {each.key}\n"
        for each in place.certificates
    )
    config = place.write(
        "apache.conf",
        f"ServerName localhost\nServerRoot {place.folder}\nDefaultRuntimeDir {place.folder}\n"
        f"PidFile {place.folder}/apache.pid\nErrorLog /dev/stderr\n{loaded}"
        f"Listen 127.0.0.1:{port}\n<VirtualHost *>\n  SSLEngine on\n{pairs}"
        f"  Include {place.emitted}\n</VirtualHost>\n",
    )
    return [program("apache2"), "-f", str(config), "-X"]


def haproxy(place: Place, port: int) -> Sequence[str]:
    files = "".join(f" crt {each}" for each in place.bundle())
    config = place.write(
        "haproxy.cfg",
        "defaults\n    mode http\n    timeout connect 1s\n    timeout client 5s\n"
        f"    timeout server 5s\n\nfrontend all\n    bind 127.0.0.1:{port} ssl{files}\n"
        "    http-request return status 200\n",
    )
    return [program("haproxy"), "-db", "-f", str(place.emitted), "-f", str(config)]


def node(place: Place, port: int) -> Sequence[str]:
    def read(which: str) -> str:
        paths = (str(getattr(each, which)) for each in place.certificates)
        return ", ".join(f"readFileSync('{path}')" for path in paths)

    script = place.write(
        "server.js",
        "const { readFileSync } = require('fs');\nrequire('https').createServer({\n"
        f"  ...require('{place.emitted}'),\n  cert: [{read('certificate')}],\n"
        f"  key: [{read('key')}],\n}}).listen({port}, '127.0.0.1');\n",
    )
    return [program("node"), str(script)]


def caddy(place: Place, port: int) -> Sequence[str]:
    # A `tls` of a site has one certificate; `load` takes all of a folder.
    folder = place.folder / "pairs"
    folder.mkdir(exist_ok=True)
    for bundle in place.bundle():
        shutil.copy(bundle, folder)
    config = place.write(
        "Caddyfile",
        "{\n    admin off\n    auto_https disable_redirects\n    skip_install_trust\n"
        f"    default_sni localhost\n    storage file_system {place.folder}/storage\n}}\n"
        f"https://localhost:{port} {{\n    bind 127.0.0.1\n    tls {{\n        load {folder}\n"
        f"        import {place.emitted}\n    }}\n    respond hello\n}}\n",
    )
    home = [f"{name}={place.folder}" for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")]
    command = [program("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]
    return ["env", *home, *command]


def jvm(place: Place, port: int) -> Sequence[str]:
    pairs = [str(path) for each in place.certificates for path in (each.certificate, each.key)]
    return [program("java"), f"@{place.emitted}", str(JAVA_SERVER), str(port), *pairs]


def openssl(place: Place, port: int) -> Sequence[str]:
    command = [program("openssl"), "s_server", "-accept", f"127.0.0.1:{port}", "-quiet", "-www"]
    for which, each in zip(("", "d"), place.certificates, strict=False):
        command += [f"-{which}cert", str(each.certificate), f"-{which}key", str(each.key)]
    return ["env", f"OPENSSL_CONF={place.emitted}", *command]


LAUNCHERS: dict[str, Callable[[Place, int], Sequence[str]]] = {
    "nginx": nginx,
    "apache": apache,
    "haproxy": haproxy,
    "node": node,
    "caddy": caddy,
    "jvm": jvm,
    "openssl": openssl,
}


# The TLS implementations of Tomcat, by names of the tests.
TOMCATS = {"tomcat-jsse": "jsse", "tomcat-openssl": "openssl"}


class EmittedTomcat(Tomcat):
    """The lab's Tomcat with an emitted connector, as an external entity of server.xml."""

    emitted: Path

    def _lay_out(self) -> None:
        super()._lay_out()
        listener = ""
        if self._connector.listener:
            listener = f'<Listener className="{self._connector.listener}" SSLEngine="on"/>'
        config = self._setting.folder / "tomcat" / "conf" / "server.xml"
        config.write_text(
            f'<!DOCTYPE Server [<!ENTITY connector SYSTEM "{self.emitted.as_uri()}">]>\n'
            f'<Server port="-1">{listener}<Service name="Catalina">&connector;'
            '<Engine name="Catalina" defaultHost="localhost"><Host name="localhost"/></Engine>'
            "</Service></Server>\n"
        )

    def _command(self) -> list[str]:
        command = super()._command()
        files = self._certificates[0]
        options = [f"-Dtls.certificate={files['certificate']}", f"-Dtls.key={files['key']}"]
        options += ["-Dtls.port=0", "-Dtls.address=127.0.0.1"]
        options += [f"-Dtls.implementation={self._connector.implementation}"]
        return [command[0], *options, *command[1:]]


@contextmanager
def serving(server: str, folder: Path, text: str, keys: Sequence[str] = KEYS) -> Iterator[str]:
    """A server with an emitted text and certificates with these keys; its host and port."""
    folder.mkdir(exist_ok=True)
    if server in TOMCATS:
        with _tomcat(TOMCATS[server], keys[0], folder, text) as netloc:
            yield netloc
        return
    emitted = folder / ("emitted.js" if server == "node" else "emitted")
    emitted.write_text(text, "utf-8")
    authority = Authority(folder)
    place = Place(folder, emitted, [authority.issue(key) for key in keys])

    def launch(port: int) -> ServerProcess:
        command = pinned(LAUNCHERS[server](place, port), (), "TERM")
        return ServerProcess(command, folder / "log")

    port, process = start_on_free_port(server, launch, seconds=START_S)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.stop()


@contextmanager
def _tomcat(connector: str, key: str, folder: Path, text: str) -> Iterator[str]:
    server = EmittedTomcat(
        Setting(folder, (key,), (), 100, (), levels=Levels.of(connector=connector), resume="psk")
    )
    server.emitted = folder / "emitted.xml"
    server.emitted.write_text(text, "utf-8")
    server.prepare()
    running = server.start()
    try:
        yield urlsplit(running.url).netloc
    finally:
        running.stop()
