"""The part to which a stack belongs: rules, and real stacks of real servers."""

from collections import Counter
from typing import Any

import pytest

from factories.stacks import DERIVE, NOBODYS, SIGN, TCP, kept
from tlslab.analysis.why.rules import NOT_ATTRIBUTED, load_rules, parse_rules, stacks_of

CRYPTO, SSL = "libcrypto.so.3", "libssl.so.3"


def shares(cell: str) -> dict[str, float]:
    rules, counts = load_rules(), Counter[str]()
    for frames, number in stacks_of(kept()[cell].folded):
        counts[rules.part_of(frames)] += number
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (DERIVE, "key exchange"),
        (SIGN, "signature"),
        (TCP, "kernel: TCP and sockets"),
        (NOBODYS, NOT_ATTRIBUTED),
        (f"p;{SSL}`?;{CRYPTO}`EVP_KDF_derive;{CRYPTO}`SHA512_Update", "key schedule"),
        (f"p;{SSL}`?;{CRYPTO}`EVP_DigestUpdate;{CRYPTO}`SHA512_Update", "key schedule"),
        (f"p;{SSL}`?;{CRYPTO}`EVP_DigestSign;{CRYPTO}`SHA512_Update", "signature"),
        # The random numbers of a key belong to the key exchange, not to the records.
        (f"p;{SSL}`?;{CRYPTO}`EVP_PKEY_generate;{CRYPTO}`EVP_CipherUpdate", "key exchange"),
        (f"p;{SSL}`SSL_write;{CRYPTO}`EVP_EncryptUpdate;{CRYPTO}`?", "records"),
        (f"p;{SSL}`?;{CRYPTO}`EVP_DigestSign;{CRYPTO}`CRYPTO_malloc;x`malloc", "allocation"),
        (f"p;{SSL}`?;{CRYPTO}`EVP_DigestSignInit;{CRYPTO}`EVP_MD_fetch", "algorithm look-ups"),
        (f"p;{SSL}`?;{CRYPTO}`i2d_X509;{CRYPTO}`ASN1_item_ex_i2d", "X.509"),
        (f"p;nginx`main;{SSL}`SSL_do_handshake;{SSL}`?", "TLS messages"),
        (f"p;nginx`main;{SSL}`SSL_write;libc.so.6`__memmove_avx_unaligned_erms", "TLS messages"),
        ("p;nginx`main;nginx`ngx_http_process_request", "application"),
        ("p;nginx`main;libc.so.6`__memmove_avx_unaligned_erms", "application"),
        ("p;nginx`main;kernel`do_epoll_wait", "kernel: scheduling and waiting"),
        ("p;nginx`main;kernel`do_syscall_64;kernel`vfs_open", "kernel: files, memory, rest"),
        # The receiver's part of TCP, in the sender's interrupt.
        (
            f"p;{CRYPTO}`?;kernel`asm_sysvec_apic_timer_interrupt;kernel`handle_softirqs;"
            "kernel`net_rx_action;kernel`tcp_v4_rcv",
            "kernel: TCP and sockets",
        ),
        ("p;tlslab-serve`sha512_block_data_order_avx2", "key schedule"),
        ("p;tlslab-serve`rustls::tls13::key_schedule::KeySchedule::derive", "key schedule"),
        ("p;tlslab-serve`rustls::crypto::aws_lc_rs::sign::EcdsaSigner::sign;x`memcpy", "signature"),
        ("p;tlslab-serve`<rustls::server::hs::X as rustls::Y>::z;x`memcpy", "TLS messages"),
        ("p;tlslab-serve`tlslab_serve::worker::Worker<A>::turn;x`clock", "application"),
        ("p;node`node::Start;perf-12.map`?", "application"),
        ("p", NOT_ATTRIBUTED),
    ],
)  # fmt: skip
def test_a_stack_belongs_to_its_part(stack: str, part: str) -> None:
    assert load_rules().part_of(stack.split(";")[1:]) == part


@pytest.mark.parametrize("cell", kept())
def test_real_stacks_are_known(cell: str) -> None:
    found = shares(cell)
    assert found.get(NOT_ATTRIBUTED, 0.0) < 0.06
    for part in ("key exchange", "signature", "key schedule", "records", "kernel: TCP and sockets"):
        assert found[part] > 0, part


def test_with_rsa_4096_the_signature_is_most_of_it() -> None:
    found = shares("nginx:tls=1.2,key=rsa-4096,group=P-256")
    assert found["signature"] > 0.75
    assert found["key exchange"] < 0.1


def test_openssl_3_looks_algorithms_up() -> None:
    assert shares("nginx:tls=1.3,key=ecdsa-p256,group=X25519")["algorithm look-ups"] > 0.05


def test_every_rule_says_why_and_is_of_a_known_part() -> None:
    rules = load_rules()
    assert all(len(rule.why) > 10 for tier in rules.tiers for rule in tier.rules)
    assert rules.parts[-1] == NOT_ATTRIBUTED
    used = {rule.part for tier in rules.tiers for rule in tier.rules}
    assert used == set(rules.parts) - {NOT_ATTRIBUTED}


def table(**more: Any) -> dict[str, Any]:
    rule = {"part": "a", "symbol": "x", "why": "because"}
    tier = [{"from": "inside", "rule": [rule]}]
    return {"schema": "tlslab.parts/1", "parts": ["a"], "tier": tier, **more}


@pytest.mark.parametrize("change", [{"schema": "other/1"}, {"parts": ["b"]}])
def test_wrong_rules_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"schema|unknown parts"):
        parse_rules(table(**change))


def test_a_torn_line_of_stacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        stacks_of("nginx;a`b many")
