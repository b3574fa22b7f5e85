# SPDX-License-Identifier: Apache-2.0
"""As a program: clients (grpcio, curl, Go's net/http) that use a node through proxies which change, drop,
repeat, cut and delay what they send and receive, for so many seconds; then it prints what was done and what
became of the calls, as JSON. By frames without TLS, and by pieces of what is enciphered with it."""
import argparse
import asyncio
import collections
import json
import os
import queue
import random
import subprocess
import threading
import time

import attacks
import frame_proxy
import grpc
from envoy.service.discovery.v3 import discovery_pb2

NICENESS = 5 # somewhere else they take no processor time of the node
CALL_S = 0.8
EACH = 2 # clients of a kind at a time
PROCESS_S = 4 * CALL_S
DELAY_S = 0.03
ANSWERS = 15 # of one stream, then there is a new one
RATE = 0.06  # of frames are changed, on three connections of four
CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
HEALTH = '/grpc.health.v1.Health/Check'
ASK = json.dumps({'type_url': CLUSTER})
HEAD = frame_proxy.HEAD_BYTES
TYPES = 11 # of frames, with one that there is not


# ---- changes: what goes instead of a frame, or a piece ----

def flip(dice, data):
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def flip_head(dice, data):
    return flip(dice, data[:HEAD]) + data[HEAD:]


def shorten(dice, data):
    return data[:dice.randrange(len(data))]


def grow(dice, data):
    at = dice.randrange(len(data))
    return data[:at] + dice.randbytes(dice.randint(1, 40)) + data[at:]


def repeat(dice, data):
    return data * dice.randint(2, 4)


def drop(_, __):
    return b''


def resize(dice, data):
    """A frame as it should be, with less in it."""
    payload = data[HEAD:][:dice.randrange(max(len(data) - HEAD, 1))]
    return len(payload).to_bytes(3, 'big') + data[3:HEAD] + payload


def stray(dice, data):
    """A frame of any type before it, of the same stream."""
    payload = dice.randbytes(dice.choice((0, 4, 5, 6, 8, 8, 100)))
    kind, flags = dice.randrange(TYPES), dice.choice((0, 1, 4, 5, 8, 32, 255))
    return len(payload).to_bytes(3, 'big') + bytes((kind, flags)) + data[5:HEAD] + payload + data


CHANGES = (flip, flip_head, shorten, grow, repeat, drop, resize, stray)


class Mutating(frame_proxy.Passed):
    """One connection, and its own dice: a number and a seed are always the same ones."""

    def __init__(self, dice, counts, splits):
        self.dice, self.counts, self.splits = dice, counts, splits
        self.rate = RATE if dice.random() < 0.75 else 0
        self.held = {True: b'', False: b''}

    def choose(self, data, is_client):
        """Most changes end the connection at once; one of a message goes further."""
        if self.splits and is_client and data[3] == attacks.DATA and self.dice.random() < 0.7:
            return resize
        return self.dice.choice((*CHANGES, 'delay', 'crumbs', 'swap', 'cut'))

    async def pass_on(self, data, is_client, writer):
        held, self.held[is_client] = self.held[is_client], b''
        if self.dice.random() >= self.rate or len(data) <= HEAD:
            writer.write(data + held)
            return
        how = self.choose(data, is_client)
        self.counts[how if isinstance(how, str) else how.__name__] += 1
        if how == 'swap':
            self.held[is_client] = data + held
        elif how == 'cut':
            writer.write(held + shorten(self.dice, data))
            raise ConnectionError
        elif how == 'delay':
            await asyncio.sleep(self.dice.random() * DELAY_S)
            writer.write(held + data)
        elif how == 'crumbs':
            writer.write(held)
            for i in range(len(data)):
                writer.write(data[i:i + 1])
                await asyncio.sleep(0)
        else:
            writer.write(held + how(self.dice, data))


# ---- clients: each is one attempt ----

class Clients:
    def __init__(self, arguments, plain, secure):
        self.go, self.ca = arguments.go, arguments.ca
        self.plain, self.secure = plain, secure
        with open(self.ca, 'rb') as authority:
            self.credentials = grpc.ssl_channel_credentials(authority.read())

    def channel(self, is_secure):
        options = [('grpc.use_local_subchannel_pool', 1)]
        return grpc.secure_channel(self.secure.address, self.credentials, options) if is_secure else \
            grpc.insecure_channel(self.plain.address, options)

    def stream(self, is_secure=False):
        """A subscription after the other, by one stream."""
        outbox = queue.Queue()
        with self.channel(is_secure) as channel:
            stream = channel.stream_stream(
                attacks.ADS, request_serializer=lambda one: one.SerializeToString(),
                response_deserializer=discovery_pb2.DeltaDiscoveryResponse.FromString)(
                    iter(outbox.get, None), timeout=CALL_S)
            nonce = ''
            try:
                for i in range(ANSWERS):
                    request = discovery_pb2.DeltaDiscoveryRequest(
                        type_url=CLUSTER, response_nonce=nonce, resource_names_subscribe=[f'absent-{i}'])
                    request.node.id = 'changed'
                    outbox.put(request)
                    nonce = next(stream).nonce
            finally:
                outbox.put(None)
                stream.cancel()
        return True

    def calls(self, is_secure=False):
        with self.channel(is_secure) as channel:
            call = channel.unary_unary(HEALTH)
            return all(call(b'', timeout=CALL_S) == b'\x08\x01' for _ in range(ANSWERS))

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, check=False, timeout=PROCESS_S)
        return done.returncode == 0

    def curl(self):
        return self.run('curl', '-sSf', '-m', str(CALL_S), '--http2-prior-knowledge', '-H',
                        'content-type: application/json', '-d', ASK, f'http://{self.plain.address}/v1/udpa:resources')

    def curl_tls(self):
        return self.run('curl', '-sSf', '-m', str(CALL_S), '--http2', '--cacert', self.ca, '-H',
                        'content-type: application/json', '-d', ASK, f'https://{self.secure.address}/v1/udpa:resources')

    def curl_http1(self):
        return self.run('curl', '-sSf', '-m', str(CALL_S), '--http1.1', f'http://{self.plain.address}/ready')

    def net_http(self):
        return self.run('timeout', str(2 * CALL_S), self.go, '-url', f'http://{self.plain.address}/v1/udpa:resources',
                        '-type', CLUSTER, '-polls', '20', '-short')

    def all(self):
        made = {'stream': self.stream, 'stream by TLS': lambda: self.stream(True), 'calls': self.calls,
                'calls by TLS': lambda: self.calls(True), 'curl': self.curl, 'curl by TLS': self.curl_tls,
                'curl, HTTP/1.1': self.curl_http1}
        if self.go:
            made['Go net/http'] = self.net_http
        return made


def use(name, attempt, deadline, results):
    """Again and again; what a call has failed with makes no difference."""
    while time.monotonic() < deadline:
        try:
            is_good = attempt()
        except (grpc.RpcError, StopIteration, subprocess.TimeoutExpired, ValueError):
            is_good = False
        results[f'{name}: {"good" if is_good else "failed"}'] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    for name in ('port', 'tls-port', 'seed'):
        parser.add_argument(f'--{name}', type=int, required=True)
    parser.add_argument('--ca', required=True, help='file of the authority')
    parser.add_argument('--go', help='the client of tests/interop/go-http')
    parser.add_argument('--seconds', type=float, required=True)
    arguments = parser.parse_args()
    os.nice(NICENESS)
    counts, results, numbers = collections.Counter(), collections.Counter(), iter(range(1 << 30))

    def make(splits):
        return Mutating(random.Random(f'{arguments.seed} {next(numbers)}'), counts, splits)

    plain = frame_proxy.FrameProxy(arguments.port, lambda: make(True))
    secure = frame_proxy.FrameProxy(arguments.tls_port, lambda: make(False), splits=False)
    deadline = time.monotonic() + arguments.seconds
    threads = [threading.Thread(target=use, args=(name, attempt, deadline, results))
               for name, attempt in Clients(arguments, plain, secure).all().items() for _ in range(EACH)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({'changes': counts, 'results': results, 'connections': next(numbers)}), flush=True)
    os._exit(0) # and with it all connections


if __name__ == '__main__':
    main()
