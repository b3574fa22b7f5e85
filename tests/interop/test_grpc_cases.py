#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gRPC's public interop client for Go, in its cases for the service grpc.testing.TestService, and gRPC's C
core in what these do not cover, against that service on udpad's own listener.

Not called, as nothing of it is served: cases with credentials of Google, with reports of ORCA, and those in which
a server compresses, or is expected to decompress."""
import pathlib
import queue
import signal
import subprocess
import sys
import threading

import interop
import grpc
from grpc_test_service import MESSAGE_MAX, PATIENCE_S, SERVICE, Messages, Server

HERE = pathlib.Path(__file__).resolve().parent
GO_CLIENT = 'google.golang.org/grpc/interop/client'
GO_CASES = ('empty_unary', 'large_unary', 'client_streaming', 'server_streaming', 'ping_pong', 'empty_stream',
            'timeout_on_sleeping_server', 'cancel_after_begin', 'cancel_after_first_response',
            'status_code_and_message', 'special_status_message', 'custom_metadata', 'unimplemented_method',
            'unimplemented_service', 'pick_first_unary', 'rpc_soak', 'channel_soak')
INITIAL, TRAILING = 'x-grpc-test-echo-initial', 'x-grpc-test-echo-trailing-bin'
CODE = grpc.StatusCode


# ---- the client for Go ----

def call_by_go(test, server):
    program = interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-interop-client', GO_CLIENT)
    options = ['-soak_per_iteration_max_acceptable_latency_ms', '20000', '-soak_overall_timeout_seconds', '50']
    if server.tls:
        options += ['-use_tls', '-use_test_ca', '-ca_file', server.authority]
    for case in GO_CASES:
        done = subprocess.run([program, '-server_host', server.host, '-server_port', str(server.port), *options,
                               '-test_case', case], text=True, capture_output=True, check=False, timeout=60)
        interop.check(case if done.returncode == 0 else f'{case}: {done.stderr[-500:]}', done.returncode == 0)


def go(test):
    call_by_go(test, Server(test))


def go_tls(test):
    call_by_go(test, Server(test, tls=True))


# ---- the C core ----

class Client:
    """A channel of grpcio, with methods by their name."""

    def __init__(self, test, server, options=()):
        self.messages = Messages(test.build)
        options = [('grpc.use_local_subchannel_pool', 1), ('grpc.max_receive_message_length', -1),
                   ('grpc.max_send_message_length', -1), *options]
        self.channel = grpc.insecure_channel(server.address, options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def method(self, kind, name, response):
        """kind: unary_unary and the others."""
        return getattr(self.channel, kind)(SERVICE + name, request_serializer=lambda one: one.SerializeToString(),
                                           response_deserializer=getattr(self.messages, response).FromString)

    def unary(self, request, **options):
        return self.method('unary_unary', 'UnaryCall', 'SimpleResponse').with_call(
            request, timeout=PATIENCE_S, **options)

    def code_of(self, request, **options):
        """With which status it ends, and with which words."""
        try:
            self.unary(request, **options)
        except grpc.RpcError as error:
            return error.code(), error.details()
        return CODE.OK, ''

    def duplex(self, name='FullDuplexCall'):
        return Stream(self, name)


class Stream:
    """A call with requests that are sent one by one."""

    def __init__(self, client, name):
        self.client = client
        self.requests = queue.Queue()
        self.call = client.method('stream_stream', name, 'StreamingOutputCallResponse')(
            iter(self.requests.get, None), timeout=PATIENCE_S)

    def say(self, *sizes, payload=0):
        self.requests.put(self.client.messages.StreamingOutputCallRequest(
            response_parameters=[{'size': size} for size in sizes], payload={'body': bytes(payload)}))

    def hear(self):
        return len(next(self.call).payload.body)

    def end(self):
        """Half-closes; how many responses follow, and the status."""
        self.requests.put(None)
        try:
            return sum(1 for _ in self.call), self.call.code()
        except grpc.RpcError as error:
            return 0, error.code()


def compressed(client):
    messages = client.messages
    request = messages.SimpleRequest(response_size=10, payload={'body': bytes(1000)})
    status = client.code_of(request, compression=grpc.Compression.Gzip)
    interop.check(f'a message that is compressed: {status}', status[0] == CODE.UNIMPLEMENTED and
                  'identity' in status[1])
    request.expect_compressed.value = True
    status = client.code_of(request)
    interop.check(f'one that is not, and should be: {status}', status[0] == CODE.INVALID_ARGUMENT)
    sent = client.method('stream_unary', 'StreamingInputCall', 'StreamingInputCallResponse')
    one = messages.StreamingInputCallRequest(payload={'body': bytes(27182)})
    interop.check('a stream is summed up', sent(iter([one] * 3)).aggregated_payload_size == 3 * 27182)
    try:
        sent(iter([one] * 3), compression=grpc.Compression.Gzip)
        code = CODE.OK
    except grpc.RpcError as error:
        code = error.code()
    interop.check(f'a stream that is compressed: {code}', code == CODE.UNIMPLEMENTED)


def sizes(client):
    request = client.messages.SimpleRequest(response_size=MESSAGE_MAX + 1)
    interop.check('a response may be larger', len(client.unary(request)[0].payload.body) == MESSAGE_MAX + 1)
    request = client.messages.SimpleRequest(payload={'body': bytes(MESSAGE_MAX - 20)})
    while request.ByteSize() < MESSAGE_MAX:
        request.payload.body += b'x'
    interop.check('a request of exactly the limit', client.code_of(request)[0] == CODE.OK)
    request.payload.body += b'x'
    status = client.code_of(request)
    interop.check(f'a byte more: {status}', status[0] == CODE.RESOURCE_EXHAUSTED)
    interop.check('the connection is served on', client.code_of(client.messages.SimpleRequest())[0] == CODE.OK)


def metadata(client):
    request = client.messages.SimpleRequest(response_size=1)
    for value in [bytes(range(size)) for size in range(1, 7)] + [bytes(range(256)), b'\xff' * 100]:
        _, call = client.unary(request, metadata=[(INITIAL, 'a value, with spaces'), (TRAILING, value)])
        interop.check(f'{len(value)} bytes', dict(call.initial_metadata())[INITIAL] == 'a value, with spaces' and
                      dict(call.trailing_metadata())[TRAILING] == value)
    request = client.messages.SimpleRequest(response_status={'code': 2})
    call = client.method('unary_unary', 'UnaryCall', 'SimpleResponse').future(
        request, metadata=[(INITIAL, 'first'), (TRAILING, b'\0last')])
    interop.check('beside a failure', call.code() == CODE.UNKNOWN and
                  dict(call.initial_metadata()).get(INITIAL) == 'first' and
                  dict(call.trailing_metadata()).get(TRAILING) == b'\0last')


def statuses(client):
    for code in CODE:
        if code in (CODE.OK, CODE.OUT_OF_RANGE, CODE.DATA_LOSS): # the latter two are none of ours
            continue
        words = f' {code.name}: 100 % "\u00fc" \U0001f608\r\n '
        found = client.code_of(client.messages.SimpleRequest(
            response_status={'code': code.value[0], 'message': words}))
        interop.check(f'{code.name}: {found}', found == (code, words))


def cardinality(client):
    call = client.method('stream_unary', 'UnaryCall', 'SimpleResponse')
    for n in (0, 2):
        try:
            call(iter([client.messages.SimpleRequest()] * n))
            code = CODE.OK
        except grpc.RpcError as error:
            code = error.code()
        interop.check(f'{n} messages where there is one: {code}', code == CODE.UNIMPLEMENTED)


def half_close(client):
    stream = client.duplex('HalfDuplexCall')
    stream.say(1, 2)
    stream.say(3)
    interop.check('all requests are answered in the end', stream.end() == (3, CODE.OK))
    interop.check('a stream without a message', client.duplex().end() == (0, CODE.OK))


def cut(client):
    stream = client.duplex('Cut')
    stream.say()
    found = stream.end()
    interop.check(f'the server resets a stream: {found}', found[1] == CODE.CANCELLED)


def cancelled(client, server):
    stream = client.duplex()
    stream.say(1)
    stream.hear()
    stream.call.cancel()
    server.wait_for_end_of('FullDuplexCall', 'has cut the stream')
    interop.check('the server knows when a client cancels', stream.call.code() == CODE.CANCELLED)


def many(client):
    """More than the server allows at a time: the others wait for their turn."""
    streams = [client.duplex() for _ in range(130)]
    for one in streams:
        one.say(1000)
    interop.check('100 at a time', [one.hear() for one in streams[:100]] == [1000] * 100)
    found = []
    threads = [threading.Thread(target=lambda one=one: found.append(one.end())) for one in streams]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    interop.check('the others behind them', sorted(found, key=str) == sorted(
        [(0, CODE.OK)] * 100 + [(1, CODE.OK)] * 30, key=str))


def slow(client):
    """Twenty MiB of both sides that are read late, beside another stream."""
    stream = client.duplex()
    for _ in range(10):
        stream.say(1 << 20, 1 << 20, payload=2 << 20)
    stream.hear()
    interop.check('another stream goes on', client.code_of(client.messages.SimpleRequest())[0] == CODE.OK)
    interop.check('and this one, once it is read', [stream.hear() for _ in range(19)] == [1 << 20] * 19)
    interop.check('to its end', stream.end() == (0, CODE.OK))


def core(test):
    server = Server(test)
    with Client(test, server) as client:
        cancelled(client, server)
        for case in (compressed, sizes, metadata, statuses, cardinality, half_close, cut, many, slow):
            print(f'{case.__name__}:')
            case(client)
    server.stop()


# ---- what lasts ----

def keepalive(test):
    """Both sides try each other, ten times a second or more often, and stay."""
    server = Server(test, 'pinging', keepalive_ms=100)
    with Client(test, server, [('grpc.keepalive_time_ms', 100), ('grpc.keepalive_timeout_ms', 5000),
                               ('grpc.keepalive_permit_without_calls', 1),
                               ('grpc.http2.max_pings_without_data', 0)]) as client:
        stream = client.duplex()
        stream.say(1)
        stream.hear()
        interop.never('a stream with nothing but pings is over', stream.call.done, 2)
        stream.say(2)
        interop.check('it goes on', stream.hear() == 2 and stream.end() == (0, CODE.OK))
    server.stop()


def graceful_end(test):
    server = Server(test, 'ending')
    with Client(test, server) as client:
        stream = client.duplex()
        stream.say(1)
        stream.hear()
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_log('closing')
        stream.say(2)
        interop.check('a stream that is open is served on', stream.hear() == 2)
        status = client.code_of(client.messages.SimpleRequest())
        interop.check(f'a new one is not: {status}', status[0] == CODE.UNAVAILABLE)
        interop.check('the server waits for the stream', server.process.poll() is None)
        interop.check('it ends with its own status', stream.end() == (0, CODE.OK))
    interop.check('and the server with it', server.process.wait(PATIENCE_S) == 0)
    server.stop()


def old_connections(test):
    server = Server(test, 'old', age_ms=300)
    with Client(test, server) as client:
        stream = client.duplex()
        stream.say(1)
        stream.hear()
        request = client.messages.SimpleRequest()

        def call_on():
            """Connections have their age meanwhile; how many there were."""
            status = client.code_of(request)
            if status[0] != CODE.OK:
                raise interop.Failure(f'a call has failed: {status}')
            return len({one.split(': ')[0] for one in server.ends_of('UnaryCall')}) > 3

        interop.wait_for('calls on new connections', call_on)
        stream.say(2)
        interop.check('and a stream stays', stream.hear() == 2)
        interop.check('until it ends', stream.end() == (0, CODE.OK))
    server.stop()


def ends(test):
    for case in (keepalive, graceful_end, old_connections):
        case(test)


VARIANTS = {'go': go, 'go_tls': go_tls, 'core': core, 'ends': ends}

if __name__ == '__main__':
    sys.exit(interop.run(__doc__, lambda test: VARIANTS[test.variant](test), tuple(VARIANTS)))
