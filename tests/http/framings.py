"""Requests whose end two servers could read differently, each with a request that could hide in its body."""

from collections.abc import Iterator

from tests.http.test_framing import CHUNKED, UPGRADES

HEAD = b"POST /first HTTP/1.1\r\nHost: x\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"


def _bodies(*heads: bytes) -> Iterator[bytes]:
    """Yield requests with each framing. Their bodies are requests by one of two readings."""
    for head in heads:
        yield HEAD + head + b"\r\n" + HIDDEN
        yield HEAD + head + b"\r\n0\r\n\r\n" + HIDDEN
        yield HEAD + head + b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)


def _chunks(*pieces: bytes) -> Iterator[bytes]:
    for piece in pieces:
        yield HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + piece + HIDDEN


SIZE = b"%d" % len(HIDDEN)
_LENGTHS = [
    SIZE,
    b"0" + SIZE,
    b"000000000000000000000000" + SIZE,
    b"+" + SIZE,
    b"-" + SIZE,
    b"0x" + b"%x" % len(HIDDEN),
]
_LENGTHS += [SIZE + b" ", b"\t" + SIZE, b"", b" ", SIZE + b"," + SIZE, SIZE + b", 0", b"1e1", b"1 0", b"\x0b" + SIZE]
_LENGTHS += [SIZE + b".0", b"18446744073709551616", b"18446744073709551615", b"9223372036854775807", b"\xef\xbc\x93"]
_CODINGS = [b"chunked", b"Chunked", b"chunked ", b"\tchunked", b"\x0bchunked", b"chunked\x0c", b"xchunked", b"chunke"]
_CODINGS += [
    b"chunked, identity",
    b"identity, chunked",
    b"identity",
    b"gzip, chunked",
    b"chunked, chunked",
    b"chunked;a=b",
]
_CODINGS += [b"", b'"chunked"', b"chunked,", b",chunked", b"chunked\r\n ", b"\r\n chunked", b"\x00chunked", b"cow"]
_NAMES = [
    b"Transfer-Encoding ",
    b" Transfer-Encoding",
    b"Transfer_Encoding",
    b"Transfer-Encoding\t",
    b"Transfer\xadEncoding",
]
_NAMES += [b"X: a\rTransfer-Encoding", b"X: a\nTransfer-Encoding", b"X\0: a\r\nTransfer-Encoding", b"transfer-encoding"]
FRAMINGS = [
    *_bodies(*(b"Content-Length: %s\r\n" % length for length in _LENGTHS)),
    *_bodies(*(b"Transfer-Encoding: %s\r\n" % coding for coding in _CODINGS)),
    *_bodies(*(b"Transfer-Encoding: %s\r\nContent-Length: %s\r\n" % (coding, SIZE) for coding in _CODINGS)),
    *_bodies(*(b"Content-Length: %s\r\nTransfer-Encoding: %s\r\n" % (SIZE, coding) for coding in _CODINGS)),
    *_bodies(*(b"Content-Length: %s\r\n%s: chunked\r\n" % (SIZE, name) for name in _NAMES)),
    *_bodies(*(b"%s: chunked\r\n" % name for name in _NAMES)),
    *_bodies(
        b"Content-Length: %s\r\nContent-Length: %s\r\n" % (SIZE, SIZE),
        b"Content-Length: 0\r\nContent-Length: %s\r\n" % SIZE,
    ),
    *_bodies(
        b"Content-Length: %s\r\nContent-Length: 0\r\n" % SIZE,
        b"Content-Length : %s\r\n" % SIZE,
        b"Content_Length: 3\r\n",
    ),
    *_bodies(
        b"Content-Length: \r\n %s\r\n" % SIZE,
        b" Content-Length: %s\r\n" % SIZE,
        b"X: y\r\n Content-Length: %s\r\n" % SIZE,
    ),
    *_bodies(
        b"X: y\nContent-Length: %s\r\n" % SIZE, b"X: y\rContent-Length: %s\r\n" % SIZE, b"Content-Length: %s\n" % SIZE
    ),
    *_bodies(*(upgrade + b"Content-Length: %s\r\n" % SIZE for upgrade in UPGRADES.values())),
    *_bodies(*(upgrade + b"Transfer-Encoding: chunked\r\n" for upgrade in UPGRADES.values())),
    *_bodies(
        b"Connection: Content-Length\r\nContent-Length: %s\r\n" % SIZE,
        b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
    ),
    *_chunks(
        b"3\r\nabc\r\n0\r\n\r\n",
        b"3;a\r\nabc\r\n0\r\n\r\n",
        b"3;a=b\r\nabc\r\n0;c\r\n\r\n",
        b"3 ;a\r\nabc\r\n0\r\n\r\n",
    ),
    *_chunks(
        b"3 \r\nabc\r\n0\r\n\r\n", b" 3\r\nabc\r\n0\r\n\r\n", b"\t3\r\nabc\r\n0\r\n\r\n", b"3\t\r\nabc\r\n0\r\n\r\n"
    ),
    *_chunks(b"003\r\nabc\r\n0\r\n\r\n", b"00000000000000003\r\nabc\r\n000\r\n\r\n", b"0x3\r\nabc\r\n0\r\n\r\n"),
    *_chunks(
        b"+3\r\nabc\r\n0\r\n\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"3.\r\nabc\r\n0\r\n\r\n",
        b"10000000000000003\r\nabc\r\n0\r\n\r\n",
    ),
    *_chunks(
        b"3\nabc\r\n0\r\n\r\n",
        b"3\r\nabc\n0\r\n\r\n",
        b"3\r\nabc\r\n0\n\r\n",
        b"3\r\nabc\r\n0\r\n\n",
        b"3\r\nabc\r\n0\n\n",
    ),
    *_chunks(
        b"3\rabc\r\n0\r\n\r\n",
        b"3\r\nabc0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\nab\r\n0\r\n\r\n",
        b"\r\n3\r\nabc\r\n0\r\n\r\n",
    ),
    *_chunks(
        b"3;\nabc\r\n0\r\n\r\n",
        b'3;a="\r\nabc\r\n0\r\n\r\n',
        b'3;a="\n"\r\nabc\r\n0\r\n\r\n',
        b"3;\xff\r\nabc\r\n0\r\n\r\n",
    ),
    *_chunks(
        b"0\r\nA: b\r\n\r\n",
        b"0\r\nContent-Length: 33\r\n\r\n",
        b"0\r\nA : b\r\n\r\n",
        b"0\r\nA\r\n\r\n",
        b"0\r\n b\r\n\r\n",
    ),
    *_chunks(
        b"0\r\nA: b\n\r\n",
        b"0\r\nA: b\r\r\n",
        b"0\r\n",
        b"0\r\n\r",
        b"",
        b"g\r\n",
        b"3\r\nabc\r\n",
        b"ffffffffffffffff\r\n",
    ),
    b"GET /first HTTP/1.1\nHost: x\n\n" + HIDDEN,
    b"GET /first HTTP/1.1\r\nHost: x\r\n\n" + HIDDEN,
    b"GET /first HTTP/1.1\r\nHost: x\r\n\rX: y\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.1\r\nX: y\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + HIDDEN,
    b"GET /first\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/2.0\r\nHost: x\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.2\r\nHost: x\r\n\r\n" + HIDDEN,
    b"GET  /first  HTTP/1.1\r\nHost: x\r\n\r\n" + HIDDEN,
    b"GET /first HTTP/1.1 \r\nHost: x\r\n\r\n" + HIDDEN,
    b"GET http://x/first HTTP/1.1\r\nHost: x\r\n\r\n" + HIDDEN,
    b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\nContent-Length: 33\r\n\r\n" + HIDDEN,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN,
    b"\r\n\r\n\r\nGET /first HTTP/1.1\r\nHost: x\r\n\r\n" + HIDDEN,
    HEAD + b"Expect: 100-continue\r\nContent-Length: 33\r\n\r\n" + HIDDEN,
    HEAD + b"Expect: 100-continue, x\r\n" + CHUNKED + HIDDEN,
]
