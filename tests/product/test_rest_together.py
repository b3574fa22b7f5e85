#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""REST by HTTP/2 with many requests at a time on one connection, and connections without number:
with and without TLS. Frames are written by hand, so that their bytes can come in any order."""
import argparse
import json
import pathlib
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

from product import PATIENCE_S, check, main, wait_for
from test_rest import (DATA, HEADERS, INITIAL_WINDOW, JSON, PREFACE, RESET, RESOURCES, Rest,
                       SETTINGS, STRING, WINDOW_UPDATE, XDS, accepts, frame, head, issue,
                       put_greeting, read_all, read_exactly, request, values)

N_POLLS = 100
GOAWAY = 7
ENDS, HEAD_ENDS = 1, 4 # flags
N_CONNECTIONS = 1500
LARGE = 8 << 20 # more than the sockets between two processes hold


class Second:
    """A connection of HTTP/2: what has come of each stream."""

    def __init__(self, stream, window=65535):
        self.stream = stream
        self.got = {}
        self.ended = set()
        self.is_told_to_go = False
        stream.settimeout(PATIENCE_S * 2)
        stream.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, window)))

    def ask(self, number, body):
        headers, text = request(body)
        self.stream.sendall(frame(HEADERS, HEAD_ENDS, number, headers) +
                            frame(DATA, ENDS, number, text))

    def read(self):
        """One frame; false: there is no more."""
        try:
            start = read_exactly(self.stream, 9)
            payload = read_exactly(self.stream, int.from_bytes(start[:3], 'big'))
        except (ConnectionError, ssl.SSLError):
            return False
        number = int.from_bytes(start[5:], 'big')
        if start[3] == SETTINGS and not start[4] & ENDS:
            self.stream.sendall(frame(SETTINGS, ENDS, 0))
        if start[3] == GOAWAY:
            self.is_told_to_go = True
        if start[3] == DATA:
            self.got[number] = self.got.get(number, b'') + payload
            if payload:
                self.stream.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack('>I', len(payload))))
        if start[3] in (DATA, HEADERS) and start[4] & ENDS:
            self.ended.add(number)
        return True

    def read_until(self, numbers):
        while not self.ended.issuperset(numbers):
            if not self.read():
                return False
        return True

    def json(self, number):
        return json.loads(self.got[number])


def plain(rest):
    return socket.create_connection(('127.0.0.1', rest.ports[0]), PATIENCE_S)


def secure(rest, context):
    context.set_alpn_protocols(['h2'])
    return context.wrap_socket(plain(rest), server_hostname='localhost')


def n_held(test, rest):
    """Sessions of REST, as the node tells them."""
    told = subprocess.run([test.build / 'udpactl', '--server', rest.grpc, 'status'],
                          capture_output=True, text=True, check=False).stdout
    return told.count('udpa-rest')


def wait_for_held(test, rest, number):
    wait_for(f'{number} held requests', lambda: n_held(test, rest) == number)


def version_of(rest):
    return rest.post(RESOURCES, {'type_url': STRING})[1]['version']


# ---- many at a time ----

def test_polls(test, rest, way, version, connect):
    """All are held, and a change answers all."""
    numbers = range(1, 2 * N_POLLS, 2)
    text = f'changed by {way}'
    with connect() as stream:
        client = Second(stream)
        for number in numbers:
            client.ask(number, {'type_url': STRING, 'version': version})
        wait_for_held(test, rest, N_POLLS)
        check(f'{N_POLLS} requests are held on one connection {way}', True)
        put_greeting(test, text)
        check('a change answers all', client.read_until(numbers) and not client.is_told_to_go and
              all(values(client.json(number)) == {'local/hello': text} for number in numbers))


def test_mixed_bodies(rest, way, connect):
    """Bodies come side by side, three bytes at a time; one is broken off, another is too long."""
    numbers = range(1, 2 * N_POLLS, 2)
    texts, out = {}, b''
    for number in numbers:
        headers, texts[number] = request({'type_url': STRING, 'resource_names': [f'local/{number}']})
        out += frame(HEADERS, HEAD_ENDS, number, headers)
    for at in range(0, max(map(len, texts.values())), 3):
        for number, text in texts.items():
            if at < len(text):
                out += frame(DATA, ENDS if at + 3 >= len(text) else 0, number, text[at:at + 3])
            if number == 3 and at == 9:
                out += frame(RESET, 0, 3, struct.pack('>I', 8))
        texts.pop(3, None)
    with connect() as stream:
        client = Second(stream)
        stream.sendall(out)
        others = set(numbers) - {3}
        check(f'bodies in pieces side by side are told apart {way}', client.read_until(others) and
              all('version' in client.json(number) for number in others) and 3 not in client.got)


def test_curl(rest, *more):
    """A client of others that sends many at a time. Without TLS, curl 7.88 cannot."""
    url = f'https://localhost:{rest.ports[0]}{RESOURCES}'
    done = subprocess.run(
        ['curl', '-sS', '-m', str(PATIENCE_S), '--parallel', '--parallel-max', '50', *more,
         '-w', '%{http_version} %{http_code}\n', '-o', '/dev/null',
         '-H', f'content-type: {JSON["content-type"]}', '-d', json.dumps({'type_url': STRING}),
         *(f'{url}?[1-{N_POLLS}]',)], capture_output=True, text=True, check=False)
    lines = done.stdout.split('\n')[:-1]
    check(f'curl has {N_POLLS} answers side by side',
          lines == ['2 200'] * N_POLLS, f'{lines} {done.stderr}')


# ---- who does not read ----

def begin_slowly(rest):
    """Connections on which something is awaited, with how they end."""
    half = head('content-length: 100', path=XDS[0])
    cases = {
        'nothing': (b'', b''),
        'too little to tell what is spoken': (b'PR', b''),
        'half a head': (half[:50], b''),
        'half a body': (half + b'{', b'HTTP/1.1 408 '),
        'half a head of HTTP/2': (PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 0, 1, b'\x83'),
                                  b''),
    }
    for what, (sent, expected) in cases.items():
        stream = plain(rest)
        stream.settimeout(3 * PATIENCE_S)
        stream.sendall(sent)
        yield what, stream, expected


def check_slow(slow):
    for what, stream, expected in slow:
        with stream:
            got = read_all(stream)
        check(f'who sends {what} is not waited for',
              got.startswith(expected) if expected else b' 200 ' not in got, got[:100])


def test_never_read(test):
    """Who reads nothing, of anything that he has asked for, is cut off; so is who is slow."""
    folder = test.work / 'large'
    folder.mkdir()
    (folder / 'one.yaml').write_text(
        f'name: one\nresource:\n  "@type": {STRING}\n  value: "{"x" * (LARGE // 4)}"\n')
    rest = Rest(test, 'large', '--http', '127.0.0.1:0', '--resources', folder)
    wait_for('the large one', lambda: rest.post(RESOURCES, {'type_url': STRING})[0] == 200)
    descriptors = pathlib.Path(f'/proc/{rest.process.process.pid}/fd')
    before = len(list(descriptors.iterdir()))
    slow = list(begin_slowly(rest))
    streams = []
    for window in ((1 << 31) - 1, 1): # the socket is full; a window is
        streams.append(plain(rest))
        headers, text = request({'type_url': STRING})
        streams[-1].sendall(
            PREFACE + frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, window)) +
            frame(WINDOW_UPDATE, 0, 0, struct.pack('>I', (1 << 31) - 1 - 65535)))
        for number in range(1, 9, 2):
            streams[-1].sendall(frame(HEADERS, HEAD_ENDS, number, headers) +
                                frame(DATA, ENDS, number, text))
    first = plain(rest)
    first.sendall(head('content-length: 2', path=XDS[0]) + b'{}')
    check('others are served meanwhile', first.recv(100).startswith(b'HTTP/1.1 200 '))
    first.close()
    wait_for('who reads nothing to be cut off', lambda: len(list(descriptors.iterdir())) <= before,
             patience_s=60)
    check('who reads nothing is cut off', True)
    for stream in streams:
        stream.close()
    check_slow(slow)
    check('it serves on', accepts(rest) and test.interrupt(rest.process) == 0)


# ---- connections without number ----

def reset_at_close(stream):
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


def connect_and_leave(rest, contexts, index, version):
    """In one of the ways in which clients come and go."""
    headers, text = request({'type_url': STRING, 'version': version})
    stream = plain(rest)
    try:
        if index % 3 == 0 and contexts:
            stream = contexts[index % len(contexts)].wrap_socket(stream, server_hostname='localhost')
        if index % 4 == 0:
            stream.sendall(head('content-length: 2', path=XDS[0]) + b'{}')
            stream.recv(1000)
        elif index % 4 == 1:
            stream.sendall(PREFACE + frame(SETTINGS, 0, 0) + b''.join(
                frame(HEADERS, HEAD_ENDS, number, headers) + frame(DATA, ENDS, number, text)
                for number in (1, 3, 5)))
            stream.recv(1000)
        elif index % 4 == 2:
            stream.sendall(head('content-length: 1000', path=XDS[0])[:index % 100])
        if index % 5 == 0:
            reset_at_close(stream)
    except (OSError, ssl.SSLError):
        pass # what is not of TLS for a socket with TLS
    stream.close()


def test_many_connections(test, rest, contexts=()):
    descriptors = pathlib.Path(f'/proc/{rest.process.process.pid}/fd')
    version = version_of(rest) if not contexts else 'f' * 32
    before = len(list(descriptors.iterdir()))
    threads = [threading.Thread(target=lambda first=first: [
        connect_and_leave(rest, contexts, index, version)
        for index in range(first, N_CONNECTIONS, 4)]) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for('all connections to be closed', lambda: len(list(descriptors.iterdir())) <= before)
    wait_for_held(test, rest, 0)
    check(f'{N_CONNECTIONS} connections leave nothing behind {"with" if contexts else "without"} TLS',
          True)


# ---- the end ----

def test_end(test, rest, version):
    """All that is held is answered, and clients are told to go."""
    numbers = range(1, 2 * N_POLLS, 2)
    with plain(rest) as stream:
        client = Second(stream)
        for number in numbers:
            client.ask(number, {'type_url': STRING, 'version': version})
        wait_for_held(test, rest, N_POLLS)
        rest.process.process.send_signal(signal.SIGINT)
        check('all who wait are told of the end', client.read_until(numbers) and
              all('shutting down' in client.json(number)['message'] for number in numbers))
        while client.read():
            pass
        check('and to go', client.is_told_to_go)
    check('it ends in good order', rest.process.process.wait(PATIENCE_S) == 0)


def secure_node(test):
    (certificate, key, ca), (edge, edge_key, _) = issue(test, 'node'), issue(test, 'edge')
    bootstrap = test.work / 'tls.yaml'
    bootstrap.write_text(
        'http:\n  sockets:\n  - address: 127.0.0.1:0\n    tls:\n'
        f'      certificate_file: {certificate}\n      private_key_file: {key}\n'
        f'      client_ca_file: {ca}\n')
    rest = Rest(test, 'tls', '-c', bootstrap, '--resources', test.work / 'resources')
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(edge, edge_key)
    return rest, context, ('--cacert', ca, '--cert', edge, '--key', edge_key)


def secure_version(rest, context):
    with secure(rest, context) as stream:
        client = Second(stream)
        client.ask(1, {'type_url': STRING})
        client.read_until([1])
        return client.json(1)['version']


def body(test):
    put_greeting(test, 'first')
    rest = Rest(test, 'node', '--http', '127.0.0.1:0', '--resources', test.work / 'resources')
    wait_for('the files', lambda: rest.post(RESOURCES, {'type_url': STRING})[0] == 200)
    test_polls(test, rest, 'without TLS', version_of(rest), lambda: plain(rest))
    test_mixed_bodies(rest, 'without TLS', lambda: plain(rest))
    test_many_connections(test, rest)
    test_end(test, rest, version_of(rest))
    rest, context, files = secure_node(test)
    wait_for('the files', lambda: len(secure_version(rest, context)) == 32)
    test_polls(test, rest, 'with TLS', secure_version(rest, context), lambda: secure(rest, context))
    test_mixed_bodies(rest, 'with TLS', lambda: secure(rest, context))
    test_curl(rest, *files)
    test_many_connections(test, rest, [context, ssl._create_unverified_context()])
    check('SIGINT ends it', test.interrupt(rest.process) == 0)
    test_never_read(test)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--ca', type=pathlib.Path)
    sys.exit(main(PARSER, body))
