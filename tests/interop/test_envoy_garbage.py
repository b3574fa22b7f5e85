#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Garbage on other connections and streams does not disturb the stream of an Envoy."""
import os
import random
import socket
import struct
import sys

import interop
import envoy_peer
import grpc
from udpa_peer import Peer

ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/'
METHODS = (ADS + 'StreamAggregatedResources', ADS + 'DeltaAggregatedResources',
           '/udpa.service.discovery.v1.UdpaDiscoveryService/StreamMessages')
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
SETTINGS = struct.pack('>I', 0)[1:] + b'\x04\x00' + struct.pack('>I', 0)
SEED = 20


def frame(kind, flags, stream, payload):
    return struct.pack('>I', len(payload))[1:] + bytes((kind, flags)) + \
        struct.pack('>I', stream) + payload


def connections(chance):
    """What is written on connections of their own; the node may end them as it likes."""
    noise = chance.randbytes(20000)
    yield 'bytes without sense', noise
    yield 'HTTP/1.1', b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
    yield 'a TLS greeting', bytes.fromhex('1603010200010001fc0303') + noise[:300]
    yield 'a preface, then noise', PREFACE + noise
    yield 'headers that cannot be decoded', PREFACE + SETTINGS + frame(1, 4, 1, noise[:500])
    yield 'data of a stream that is not open', PREFACE + SETTINGS + frame(0, 0, 7, noise[:500])
    yield 'a frame above the limit', PREFACE + SETTINGS + b'\xff\xff\xff\x00\x00' + b'\0\0\0\1'
    yield 'unknown frames', PREFACE + SETTINGS + b''.join(
        frame(kind, 0xff, 1, noise[:50]) for kind in range(10, 200))
    yield 'many resets', PREFACE + SETTINGS + b''.join(
        frame(3, 0, 2 * i + 1, b'\0\0\0\x08') for i in range(1000))


def write_raw(address, data):
    host, port = address.rsplit(':', 1)
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except OSError:
            pass  # the node may end the connection at any of these steps


def messages(chance):
    """Bodies of gRPC messages that are no request of any of the methods."""
    yield 'noise', chance.randbytes(500)
    yield 'deep nesting', nested(20000)
    yield 'a length that goes beyond the end', b'\x0a\xff\xff\xff\xff\x0f'
    yield 'a field cut short', b'\x0a\x20abc'
    yield 'text that is not UTF-8', b'\x22\x03\xff\xfe\xfd'
    yield 'no type URL', b'\x12\x00'
    yield 'more than a client may send', bytes(5 * 1024 * 1024)


def nested(depth):
    """A Node (field 2 of a request) whose metadata holds lists in lists."""
    body = b''
    for _ in range(depth):
        body = b'\x0a' + varint(len(body)) + body
        if len(body) > 100000:
            break
    return b'\x12' + varint(len(body)) + body


def varint(value):
    out = b''
    while value >= 0x80:
        out += bytes((value & 0x7f | 0x80,))
        value >>= 7
    return out + bytes((value,))


def end_of_call(channel, method, body):
    """The status code with which the node ends a stream that begins with this."""
    call = channel.stream_stream(method, request_serializer=None, response_deserializer=None)
    try:
        for _ in call(iter([body]), timeout=5):
            pass
        return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()


def speak_garbage(address):
    chance = random.Random(SEED)
    for what, data in connections(chance):
        write_raw(address, data)
        print(f'ok: connection with {what}', flush=True)
    allowed = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED,
               grpc.StatusCode.FAILED_PRECONDITION}
    with grpc.insecure_channel(address) as channel:
        for method in METHODS:
            for what, body in messages(chance):
                code = end_of_call(channel, method, body)
                interop.check(f'{method.rsplit("/")[-1]}: {what}: {code.name}', code in allowed)


def body(test):
    binary = interop.envoy_or_skip()
    os.environ['GRPC_VERBOSITY'] = 'NONE'
    node = interop.Node(test, 'node')
    with Peer(test.build, node.address) as peer:
        peer.publish([('before', envoy_peer.static_cluster('before'))])
        envoy = envoy_peer.Envoy(test, binary, node.port)
        envoy.wait_for_clusters(['before'])
        speak_garbage(node.address)
        peer.publish([('after', envoy_peer.static_cluster('after'))])
        envoy.wait_for_clusters(['before', 'after'])
        interop.check('Envoy is on its first connection',
                      envoy.stat('cluster.udpad.upstream_cx_total') == 1)
        interop.check('and on its first stream', envoy.is_connected() and
                      envoy.stat('cluster.udpad.upstream_rq_total') in (1, None))
        interop.check('nothing of it reached Envoy as an update that failed',
                      not envoy.stat('cluster_manager.cds.update_failure') and
                      not envoy.stat('cluster_manager.cds.update_rejected'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
