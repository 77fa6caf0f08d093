"""From the text of `perf script` to folded stacks."""

from collections.abc import Iterator

from tlslab.lab.why.perf import fold

# In the format of perf 6.1: a header, frames from the inside out, an empty line.
SCRIPT = """\
nginx
\t          e3c58d _int_malloc (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t          214f1a [unknown] (/usr/lib/x86_64-linux-gnu/libcrypto.so.3)
\t          214f2b [unknown] (/usr/lib/x86_64-linux-gnu/libcrypto.so.3)
\t           29c06 [unknown] (/usr/lib/x86_64-linux-gnu/libssl.so.3)
\t           253ad main (/usr/sbin/nginx)

nginx
\tffffffff813c62a4 tcp_sendmsg ([kernel.kallsyms])
\tffffffff813c62a4 nf_hook_slow ([nf_tables])
\t           27249 __libc_start_main@@GLIBC_2.34 (/usr/lib/x86_64-linux-gnu/libc.so.6)

nginx
\tffffffff813c62a4 tcp_sendmsg ([kernel.kallsyms])
\tffffffff813c62a4 nf_hook_slow ([nf_tables])
\t           27249 __libc_start_main@@GLIBC_2.34 (/usr/lib/x86_64-linux-gnu/libc.so.6)

nginx PERF_RECORD_LOST lost 12

my server
\t  55d0 <a::B<[u8; 4]> as c::D>::e::h0123456789abcdef (/opt/ser;ver (deleted))

"""


def test_equal_stacks_are_counted_outermost_frame_first() -> None:
    folded = fold(SCRIPT.splitlines())
    assert folded.samples == 4
    assert "nginx;libc.so.6`__libc_start_main;kernel`nf_hook_slow;kernel`tcp_sendmsg 2" in (
        folded.text.splitlines()
    )


def test_unknown_frames_of_a_library_in_a_row_are_one() -> None:
    assert (
        "nginx;nginx`main;libssl.so.3`?;libcrypto.so.3`?;libc.so.6`_int_malloc 1"
        in fold(SCRIPT.splitlines()).text.splitlines()
    )


def test_an_unknown_frame_has_the_name_that_its_caller_calls() -> None:
    asked = []

    def callee(path: str, place: int) -> str:
        asked.append((path, place))
        return "EVP_KDF_derive" if place == 0x29C06 else ""

    lines = fold(SCRIPT.splitlines(), callee).text.splitlines()
    named = "libssl.so.3`?;libcrypto.so.3`EVP_KDF_derive;libcrypto.so.3`?;libc.so.6`_int_malloc"
    assert f"nginx;nginx`main;{named} 1" in lines
    # Callees are never looked up in the kernel, nor for a caller of a frame that has a name.
    assert all(not path.startswith("[") for path, _ in asked)
    assert 0x27249 not in {place for _, place in asked}


def test_lost_samples_are_counted_and_are_no_stack() -> None:
    assert fold(SCRIPT.splitlines()).lost == 12


def test_names_never_break_a_line_of_stacks() -> None:
    line = next(
        each for each in fold(SCRIPT.splitlines()).text.splitlines() if each.startswith("my server")
    )
    assert line == "my server;ser_ver`<a::B<[u8, 4]> as c::D>::e 1"


def test_samples_are_folded_as_they_come() -> None:
    """A script of any length: no more than one sample is in memory at a time."""
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for number in range(20_000):
            read = number
            yield from ("nginx\n", f"\t {number:x} [unknown] (/usr/lib/a.so)\n")
            yield from ("\t 253ad main (/usr/sbin/nginx)\n", "\n")

    asked: list[int] = []

    def callee(path: str, place: int) -> str:
        asked.append(read)
        return "f"

    assert fold(lines(), callee).samples == 20_000
    # Each sample is folded before the next one is read.
    assert asked == list(range(20_000))


def test_nothing_is_nothing() -> None:
    assert fold([]).samples == 0
    assert fold(["nginx ", "", ""]).text == ""
