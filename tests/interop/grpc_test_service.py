# SPDX-License-Identifier: Apache-2.0
"""grpc.testing.TestService on udpad's own listener (grpc_test_server.c), as a process, and its messages."""
import functools
import signal
import time

import interop
import hpack
from attacks import (CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_MAX, GOAWAY, HEADERS, PING, RST_STREAM,
                     Connection, frame, literal, message)
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = '/grpc.testing.TestService/'
MESSAGE_MAX = 4 << 20
PATIENCE_S = 20


class Server(interop.Node):
    """The test ends it as it ends a node, and fails if a sanitizer has found something."""
    end_signal = signal.SIGTERM

    def __init__(self, test, name='server', keepalive_ms=60000, age_ms=0, tls=False):
        self.name, self.authority = name, None
        command = [test.build / 'tests' / 'interop' / 'grpc-test-server', str(keepalive_ms), str(age_ms)]
        if tls:
            folder = test.issue('node')
            self.authority = folder / 'ca.crt'
            command += [folder / 'node.crt', folder / 'node.key']
        interop.Process.__init__(self, command, test.work / f'{name}.log')
        test.processes.append(self)
        self.address = self.wait_for_log('listening on ').split()[-1]
        self.host, self.port = '127.0.0.1', int(self.address.rsplit(':', 1)[1])
        self.source, self.tls = self.host, tls # for attacks.Connection

    def ends_of(self, method):
        """How its calls have ended, each: the address of the client, and the words."""
        return [line.split(' ', 1)[1] for line in self.text().splitlines() if line.startswith(f'{method} ')]

    def wait_for_end_of(self, method, words, n=1):
        interop.wait_for(f'{method} has ended on the server: {words}',
                         lambda: sum(words in one for one in self.ends_of(method)) >= n)


class Messages:
    """The messages of the service, by their names: Messages(build).SimpleRequest."""

    def __init__(self, build):
        files = descriptor_pb2.FileDescriptorSet.FromString(
            (build / 'tests' / 'interop' / 'grpc_testing.descriptors').read_bytes())
        self.pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            self.pool.Add(file)

    @functools.lru_cache
    def __getattr__(self, name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(f'grpc.testing.{name}'))


class Frames(Connection):
    """A connection by frames that are made by hand, and what has come on each of its streams: fields of
    HEADERS, each one a list; data; the code of a reset."""

    def __init__(self, server):
        self.heads, self.data, self.ended, self.resets = {}, {}, set(), {}
        self.goaways, self.reasons, self.pings, self.acks = [], [], [], []
        self.decoder = hpack.Decoder()
        super().__init__(server)

    def look_at(self, kind, flags, stream, payload):
        super().look_at(kind, flags, stream, payload)
        if kind == HEADERS:
            self.heads.setdefault(stream, []).append(self.decoder.decode(payload))
        elif kind == DATA:
            self.data[stream] = self.data.get(stream, b'') + payload
        elif kind == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, 'big')
        elif kind == PING:
            (self.acks if flags & 1 else self.pings).append(payload)
        elif kind == GOAWAY:
            self.goaways.append((int.from_bytes(payload[:4], 'big'), int.from_bytes(payload[4:8], 'big')))
            self.reasons.append(payload[8:])
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            self.ended.add(stream)

    def begin(self, stream, method, **fields):
        """Sends the head of a call; fields: those that differ, and more, with _ for -."""
        all_fields = {':method': 'POST', ':scheme': 'http', ':path': method if '/' in method else SERVICE + method,
                      ':authority': 'localhost', 'content-type': 'application/grpc', 'te': 'trailers',
                      **{name.replace('_', '-'): value for name, value in fields.items()}}
        block = b''.join(literal(*one) for one in all_fields.items())
        self.send(frame(HEADERS, 0, stream, block[:FRAME_MAX]) +
                  frame(CONTINUATION, END_HEADERS, stream, block[FRAME_MAX:]))

    def say(self, stream, payload=b'', flag=0, ends=True):
        data = bytes([flag]) + message(payload)[1:]
        self.send(frame(DATA, END_STREAM if ends else 0, stream, data))

    def wait(self, what, look):
        """Reads until look() is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not look():
            if time.monotonic() > deadline:
                raise interop.Failure(f'{what} was not seen within {PATIENCE_S} s')
            self.read(0.05)

    def wait_for_end(self, stream):
        """The heads of the call: that of the response, and its trailers; or one that is both."""
        self.wait(f'the end of stream {stream}', lambda: stream in self.ended)
        return self.heads[stream]

    def status(self, stream):
        return dict(self.wait_for_end(stream)[-1])['grpc-status']
