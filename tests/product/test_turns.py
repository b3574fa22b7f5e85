#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients with much to say at once are read one after the other: none ends, those with little to say are
answered meanwhile, and what is beyond the limit is not taken to its end. With each listener."""
import argparse
import json
import re
import socket
import struct
import subprocess
import sys
import time

from product import Failure, PATIENCE_S, SOURCE, admin_page, check, main, wait_for

DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
END_HEADERS, ACK = 4, 1
INITIAL_WINDOW = 4
MIB = 1 << 20
LIMIT = 16 * MIB # of a message; a peer's share of what is taken at a time is four times that
FRAME = 16384
TYPE = b'type.googleapis.com/envoy.config.cluster.v3.Cluster'
UNKNOWN_FIELD = 1000
READ_S = 0.005 # so long a client waits for something to come
PROMPT_S = 5 # less than what a message that is on its way may stop for
# Of four messages that have all of a peer's share, and of one more. gRPC's library does not report how large a message
# is that comes, so that each has the limit set aside.
SIZES = {'own': (15 * MIB, 15 * MIB), 'grpc_core': (MIB, 8 * MIB)}
WINDOW_OF_WHO_WAITS = 2 * MIB # more is not taken from a stream whose turn has not come


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + \
        struct.pack('>I', stream) + payload


def varint(value):
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def header(name, value):
    """Without an index and without Huffman's code."""
    return b'\0' + varint(len(name)) + name + varint(len(value)) + value


def request(size=0):
    """A DeltaDiscoveryRequest, with a field of that size that nobody knows."""
    head = field(1, field(1, b'by-hand')) + field(2, TYPE)
    return head + (field(UNKNOWN_FIELD, bytes(size)) if size else b'')


class Client:
    """One stream of ADS, on a connection of its own."""

    def __init__(self, address, message=None, size=None):
        """What it may send of the message goes with the headers: who is silent for long behind those may
        be read on trial."""
        self.socket = socket.socket()
        self.socket.settimeout(READ_S)
        host, port = address.rsplit(':', 1)
        self.socket.connect((host, int(port)))
        self.window = {0: 65535, 1: 65535}
        self.initial = 65535
        self.input = b''
        self.answer = b''
        self.ended = False
        path = b'/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
        headers = header(b':method', b'POST') + header(b':scheme', b'http') + \
            header(b':path', path) + header(b':authority', b'node') + \
            header(b'content-type', b'application/grpc') + header(b'te', b'trailers')
        self.to_send = b''
        self.n_sent = 0
        if message is not None:
            self.begin(message, size)
        self.socket.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, 0, 0) +
                            frame(HEADERS, END_HEADERS, 1, headers) + self.next_frames())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def begin(self, message, size=None):
        """What follows of the message is sent by pump(), as the node lets us."""
        self.to_send = memoryview(b'\0' + struct.pack('>I', size or len(message)) + message)

    def take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                key, value = struct.unpack('>HI', payload[at:at + 6])
                if key == INITIAL_WINDOW:
                    self.window[1] += value - self.initial
                    self.initial = value
            self.socket.sendall(frame(SETTINGS, ACK, 0))
        elif kind == WINDOW_UPDATE:
            self.window[stream] = self.window.get(stream, 0) + struct.unpack('>I', payload)[0]
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind == DATA:
            self.answer += payload
        elif kind in (GOAWAY, 3) or (kind == HEADERS and flags & 1):
            self.ended = True

    def read(self):
        try:
            more = self.socket.recv(65536)
            self.ended |= not more
            self.input += more
        except TimeoutError:
            return
        except OSError:
            self.ended = True
        while len(self.input) >= 9:
            size = struct.unpack('>I', b'\0' + self.input[:3])[0]
            if len(self.input) < 9 + size:
                return
            kind, flags = self.input[3], self.input[4]
            stream, = struct.unpack('>I', self.input[5:9])
            payload, self.input = self.input[9:9 + size], self.input[9 + size:]
            self.take(kind, flags, stream, payload)

    def next_frames(self):
        """What the windows let through."""
        frames = b''
        while self.to_send:
            size = min(FRAME, len(self.to_send), self.window[0], self.window[1])
            if size <= 0:
                break
            frames += frame(DATA, 0, 1, bytes(self.to_send[:size]))
            self.to_send = self.to_send[size:]
            self.n_sent += size
            self.window[0] -= size
            self.window[1] -= size
        return frames

    def pump(self):
        """Sends what it may, and reads what has come."""
        self.socket.settimeout(PATIENCE_S)
        try:
            self.socket.sendall(b'' if self.ended else self.next_frames())
        except OSError:
            self.ended = True
        self.socket.settimeout(READ_S)
        self.read()


def pump_until(what, clients, look, patience=PATIENCE_S):
    end = time.monotonic() + patience
    while not look():
        if time.monotonic() > end:
            raise Failure(f'{what}: not within {patience} s')
        for client in clients:
            client.pump()
    print(f'ok: {what}', flush=True)


def counter(test, address, name):
    status = subprocess.run([test.build / 'udpactl', '--server', address, 'status', '-o', 'json'],
                            capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    found = []

    def walk(value):
        if isinstance(value, dict):
            found.extend(value[key] for key in value if key == name)
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(json.loads(status))
    return int(found[0]) if found else 0


def metrics(node):
    page = admin_page(node, '/stats/prometheus')[1]
    return dict(line.split(' ') for line in page.splitlines() if not line.startswith('#'))


def expect_counted(test, node, address, name, least=1):
    """In the status and on the page; workers send what they have counted twice a second."""
    wait_for(f'{name}: at least {least}', lambda: counter(test, address, name) >= least, PATIENCE_S)
    metric = f'udpa_{name}_total'
    wait_for(f'{metric}, too', lambda: int(metrics(node)[metric]) >= least, PATIENCE_S)


def expect_documented(node):
    manual = (SOURCE / 'docs' / 'man' / 'udpad.conf.5').read_text()
    names = {name.split('{')[0] for name in metrics(node) if not name.startswith('udpa_runtime_')}
    missing = [name for name in names if name not in manual]
    check('all metrics are in the manual', names and not missing, missing)


def send_without_end(test, node, address):
    with Client(address, bytes(64 * MIB), 1 << 30) as endless:
        pump_until('who sends more than a message may have is ended before it is complete', [endless],
                   lambda: endless.ended, patience=60)
        wait_for('the log says so', lambda: f'at most {LIMIT} are taken' in node.text(), PATIENCE_S)
    expect_counted(test, node, address, 'messages_too_large')


def test_workers(test):
    """Each has its part of what is set aside, and what each has counted is added up."""
    config = test.work / 'workers.yaml'
    config.write_text('workers: 2\n')
    listener = test.arguments.variant
    node, address = test.start_node('workers', '--config', config, '--http', '127.0.0.1:0', '--transport', listener)
    message = request(SIZES[listener][0])
    many = [Client(address, message[:MIB // 2], len(message)) for _ in range(12)]
    pump_until('twelve messages have begun', many,
               lambda: counter(test, address, 'messages_held_back') > 0)
    expect_counted(test, node, address, 'messages_held_back')
    for client in many:
        client.socket.close()
    send_without_end(test, node, address)
    test.interrupt(node)


def body(test):
    listener = test.arguments.variant
    size, large_size = SIZES[listener]
    node, address = test.start_node('node', '--http', '127.0.0.1:0', '--transport', listener)
    wait_for('the pages', lambda: 'REST' in node.text(), PATIENCE_S)
    expect_documented(node)
    message = request(size)
    share = [Client(address, message[:MIB // 2], len(message)) for _ in range(4)]
    pump_until('four messages are under way', share, lambda: all(not c.to_send for c in share))
    large = Client(address, request(large_size))
    small = Client(address, request())
    everybody = [*share, large, small]
    begin = time.monotonic()
    pump_until('who has little to say is answered', everybody, lambda: small.answer)
    waited_s = time.monotonic() - begin
    check(f'after {waited_s:.2f} s, and those who are on their way are waited for for longer',
          waited_s < PROMPT_S)
    pump_until('time goes by', everybody, lambda: time.monotonic() - begin > 1)
    check(f'who has much to say waits: {large.n_sent} bytes were taken, and nobody has ended',
          not large.answer and large.n_sent < WINDOW_OF_WHO_WAITS and
          not any(client.ended for client in everybody), large.n_sent)
    share[0].to_send = message[MIB // 2:]
    pump_until('one of the four is complete, and the large one is answered', everybody,
               lambda: share[0].answer and large.answer)
    expect_counted(test, node, address, 'messages_held_back')
    for client in everybody:
        client.socket.close()

    send_without_end(test, node, address)
    test.interrupt(node)
    test_workers(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, tuple(SIZES)))
