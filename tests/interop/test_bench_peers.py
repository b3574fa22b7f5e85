#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The servers that stand beside udpad in the benchmark serve what they must: a client of gRPC has all
resources and each change, also one that comes later, and one that has not read for a while. Else they
would be measured at something easier than what udpad does."""
import signal
import socket
import struct
import subprocess
import sys
import threading

import interop
import grpc
import raw_http2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.service.discovery.v3 import discovery_pb2
from xds_peer import ENDPOINTS, PATIENCE_S, Client

N = 4000 # more than a message of the servers in C holds
SIZE = 500
MESSAGE_MAX = 1024 * 1024 # of the servers in C
N_WHILE_SILENT = 3000 # more than bare keeps, and more than windows and sockets hold
MARK = 'udpa.bench:'
IN_C = ('bare', 'floor')
STOP_PATIENCE_S = 20


def name(i):
    return f'com.acme/{i:06}'


class Server(interop.Process):
    """One of them; its addresses are on its first line."""

    def __init__(self, test):
        self.kind = test.variant.removesuffix('_tls')
        self.is_tls = test.variant.endswith('_tls')
        command = [*program(test, self.kind), '--resources', str(N), '--size', str(SIZE)]
        if self.is_tls:
            self.ca = make_certificates(test)
            command += ['--cert', self.ca / 'server.crt', '--key', self.ca / 'server.key',
                        '--ca', self.ca / 'ca.crt']
        super().__init__(command, test.work / f'{self.kind}.log')
        test.processes.append(self)
        line = self.wait_for_log('listening on ')
        self.address, control = line.split('listening on ')[1].strip().split(', control ')
        self.control = control.rsplit(':', 1)

    def client(self, is_delta=True, certificate='client'):
        credentials = None
        if self.is_tls:
            own = [(self.ca / f'{certificate}.{end}').read_bytes() for end in ('key', 'crt')] \
                if certificate else (None, None)
            credentials = grpc.ssl_channel_credentials((self.ca / 'ca.crt').read_bytes(), *own)
        return Client(self.address, is_delta, credentials=credentials)

    def change(self, *records):
        """Over a connection of its own; the last record comes in two parts."""
        data = b''.join(struct.pack('>IQ', index, serial) for index, serial in records)
        with socket.create_connection((self.control[0], int(self.control[1]))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(data[:-5])
            connection.sendall(data[-5:])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_PATIENCE_S)
        if status != 0 or any(mark in self.text() for mark in interop.SANITIZER_MARKS):
            raise interop.Failure(f'{self.kind} ended with {status}: {self.text()[-2000:]}')


def program(test, kind):
    if kind in IN_C:
        return [test.build / 'tests' / 'bench' / f'bench-{kind}']
    built = interop.go_program_or_skip(interop.SOURCE / 'tests' / 'bench' / 'go',
                                       test.build / 'bench-gcp', './gcp')
    return [built, '--cache', kind]


def make_certificates(test):
    folder = test.work / 'ca'
    for arguments in ([], ['server'], ['client']):
        subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', folder, *arguments],
                       check=True, capture_output=True)
    return folder


class Watcher:
    """A client, and what it has: the serial of each name."""

    def __init__(self, server, names=('*',), is_delta=True):
        self.server = server
        self.client = server.client(is_delta)
        self.client.send(ENDPOINTS, names)
        self.serials = {}
        self.n_endpoints = set()
        self.order = [] # of serials as they came

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.__exit__()

    def take(self, contents):
        found = endpoint_pb2.ClusterLoadAssignment.FromString(contents.value)
        group = found.endpoints[0]
        mark = group.locality.sub_zone
        if contents.type_url != ENDPOINTS or len(contents.value) < SIZE or \
                len(mark) != len(MARK) + 16 or not mark.startswith(MARK):
            raise interop.Failure(f'not a resource of the benchmark: {contents.type_url} {found}')
        self.n_endpoints.add(len(group.lb_endpoints))
        self.serials[found.cluster_name] = int(mark[len(MARK):], 16)
        self.order.append(self.serials[found.cluster_name])
        return found.cluster_name

    def receive(self):
        """A response; the names in it."""
        patience = threading.Timer(PATIENCE_S, self.client.stream.cancel)
        patience.start()
        response = self.client.receive()
        patience.cancel()
        if self.server.kind in IN_C and response.ByteSize() > MESSAGE_MAX:
            raise interop.Failure(f'a message of {response.ByteSize()} bytes')
        self.client.answer(response)
        if not self.client.is_delta:
            return [self.take(contents) for contents in response.resources]
        for resource in response.resources:
            if self.take(resource.resource) != resource.name or not resource.version:
                raise interop.Failure(f'{resource.name} has other contents, or no version')
        return [resource.name for resource in response.resources]

    def receive_until(self, condition):
        while not condition(self.serials):
            self.receive()


# ---- what is seen ----

def has_all(server, watcher):
    watcher.receive_until(lambda serials: len(serials) == N)
    interop.check(f'all {N} resources come', set(watcher.serials) == {name(i) for i in range(N)})
    interop.check('none has changed', set(watcher.serials.values()) == {0})
    interop.check('they have one size', len(watcher.n_endpoints) == 1)


def has_changes(server, watcher):
    server.change((7, 1))
    interop.check('a change comes alone', watcher.receive() == [name(7)])
    interop.check('with its serial', watcher.serials[name(7)] == 1)
    server.change((8, 2), (N - 1, 3))
    watcher.receive_until(lambda serials: serials[name(N - 1)] == 3)
    interop.check('others, over another connection', watcher.serials[name(8)] == 2)


def is_late(server, watcher):
    """It has read nothing all the while."""
    begin = len(watcher.order)
    server.change(*((i % N, 1000 + i) for i in range(N_WHILE_SILENT)))
    watcher.receive_until(lambda serials: all(
        serials[name(i)] == 1000 + i for i in range(N_WHILE_SILENT)))
    interop.check('whoever has not read for a while has all in the end', True)
    if server.kind == 'floor': # which never leaves one out
        interop.check('each change, in order', watcher.order[begin:] == list(
            range(1000, 1000 + N_WHILE_SILENT)))


def comes_later(server, watcher):
    with Watcher(server) as later:
        later.receive_until(lambda serials: len(serials) == N)
        interop.check('whoever comes later has what there is', later.serials == watcher.serials)
        server.change((9, 5000))
        interop.check('and what changes then', later.receive() == [name(9)])
    watcher.receive_until(lambda serials: serials[name(9)] == 5000)


def comes_by_name(server, is_delta):
    names = [name(i) for i in (3, 5, 11)]
    with Watcher(server, names, is_delta) as watcher:
        watcher.receive_until(lambda serials: len(serials) == len(names))
        interop.check('by name', set(watcher.serials) == set(names))
        server.change((4, 6000), (5, 6001))
        watcher.receive_until(lambda serials: serials[name(5)] == 6001)
        interop.check('others do not come', set(watcher.serials) == set(names))


def survives_nonsense(server, watcher):
    server.change((N, 7000))
    server.wait_for_log('control: ')
    server.change((2, 7001))
    watcher.receive_until(lambda serials: serials[name(2)] == 7001)
    interop.check('a record of nothing closes its connection alone', True)


# ---- of the floor alone, whose HTTP/2 is its own ----

def names_in(client, stream):
    return {resource.name for message in client.messages(stream)
            for resource in discovery_pb2.DeltaDiscoveryResponse.FromString(message).resources}


def read_all(client, stream):
    while len(client.data[stream]) < N * SIZE or len(names_in(client, stream)) < N:
        client.read()


def keeps_to_windows(server):
    with raw_http2.Client(server.address, window=1000) as client:
        client.ask(1)
        client.read_for(1, 1000)
        client.ping()
        interop.check('no more than the window', len(client.data[1]) == 1000)
        client.open_window(1, 500)
        client.read_for(1, 1500)
        client.ping()
        interop.check('and what it is opened by', len(client.data[1]) == 1500)
        client.open_window(1, raw_http2.WINDOW_MAX - 1000)
        read_all(client, 1)
        interop.check('then all', True)


def is_slow(server, watcher):
    """While it is not read, others are served; then nothing is missing, and no frame was torn."""
    streams = range(1, 21, 2)
    with raw_http2.Client(server.address, buffer=65536) as client:
        for stream in streams:
            client.ask(stream)
        server.change((1, 8000), (0, 8001))
        watcher.receive_until(lambda serials: serials[name(0)] == 8001)
        for stream in streams:
            read_all(client, stream)
        client.ping()
        interop.check('every stream of a slow connection has all', all(
            sum(5 + len(message) for message in client.messages(stream)) == len(client.data[stream])
            for stream in streams))


def wants_certificate(server):
    with server.client(certificate=None) as stranger:
        stranger.send(ENDPOINTS, ['*'])
        interop.check('without a certificate there is nothing',
                      stranger.status()[0] == grpc.StatusCode.UNAVAILABLE)


def body(test):
    server = Server(test)
    with Watcher(server) as watcher:
        has_all(server, watcher)
        has_changes(server, watcher)
        is_late(server, watcher)
        comes_later(server, watcher)
        if server.kind not in IN_C:
            comes_by_name(server, is_delta=True)
            comes_by_name(server, is_delta=False)
        survives_nonsense(server, watcher)
        if server.kind == 'floor' and not server.is_tls:
            keeps_to_windows(server)
            is_slow(server, watcher)
        if server.is_tls:
            wants_certificate(server)
        server.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('bare', 'bare_tls', 'floor', 'floor_tls', 'linear',
                                         'linear_tls', 'snapshot')))
