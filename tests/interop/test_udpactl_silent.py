#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl and a server that answers nothing: a gRPC server of another make takes in the stream and
every message on it, and says nothing. Whatever was asked, udpactl gives up when it was told to, and
says so.
"""
import subprocess
import sys
from concurrent import futures

from interop import Failure, check, run

import grpc

import udpa_peer

TIMED_OUT = 4
# Longer than the second that is left to a peer to say who it is: then it is asked all the same.
TIMEOUT_S = 2
RESOURCE = """
"@type": type.googleapis.com/udpa.status.v1.RefusedResource
name: greeting
"""
# The arguments, and what the server has been sent by then, besides who calls.
CALLS = (
    (['get'], 'subscribe'),
    (['get', 'cluster'], 'subscribe'),
    (['get', 'cluster', 'backend'], 'subscribe'),
    (['status'], 'subscribe'),
    (['watch', 'cluster'], 'subscribe'),
    (['delete', 'cluster', 'backend'], 'subscribe'),
    (['apply', '-f', '-'], 'publish'),
)


class Silent(grpc.GenericRpcHandler):
    """Has all that it was sent, as messages."""

    def __init__(self, message):
        self.message = message
        self.received = []

    def service(self, details):
        if details.method != udpa_peer.METHOD:
            return None
        return grpc.stream_stream_rpc_method_handler(
            self.listen, request_deserializer=self.message.FromString,
            response_serializer=self.message.SerializeToString)

    def listen(self, messages, _):
        try:
            for message in messages:
                self.received.append(message)
        except grpc.RpcError:
            pass # who has given up does not say goodbye
        yield from ()


def kinds(messages):
    """What they are, but the Node that comes first."""
    return [message.WhichOneof('message') for message in messages[1:]]


def try_all(test, silent, address):
    for arguments, sent in CALLS:
        silent.received.clear()
        done = subprocess.run(
            [test.build / 'udpactl', '--server', address, '--timeout', str(TIMEOUT_S),
             '--descriptors', test.build / 'proto' / 'udpa.descriptors', *arguments],
            input=RESOURCE, capture_output=True, text=True, timeout=30, check=False)
        words = ' '.join(arguments)
        check(f'{words}: exit status {done.returncode}', done.returncode == TIMED_OUT)
        check(f'  it says: {done.stderr.strip()}',
              f'udpactl: no answer from {address} within {TIMEOUT_S} s' in done.stderr)
        check('  and nothing that nobody said', not done.stdout and done.stderr.count('\n') == 1)
        check(f'  the server was sent {kinds(silent.received)}', sent in kinds(silent.received))


def body(test):
    silent = Silent(udpa_peer.Schema(test.build).message('udpa.service.discovery.v1.UdpaMessage'))
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((silent,))
    port = server.add_insecure_port('127.0.0.1:0')
    server.start()
    try:
        try_all(test, silent, f'127.0.0.1:{port}')
    finally:
        server.stop(None).wait()


if __name__ == '__main__':
    try:
        sys.exit(run(__doc__, body))
    except Failure as failure:
        sys.exit(str(failure))
