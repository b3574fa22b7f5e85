#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""5,000 streams are open; half of their certificates are revoked, and then the rules leave out half
of the rest. Measures how long it takes until the last of them has been cut off, and the last resource
taken back, from the moment at which the file was replaced; and that the others notice nothing.

UDPA_STREAMS and UDPA_IDENTITIES set other numbers; each identity has one connection. UDPA_REVOKED:
how many others the list has besides."""
import asyncio
import collections
import json
import os
import sys
import time

import interop
import grpc
import udpactl
from authority import Authority, replace
from envoy.service.discovery.v3 import discovery_pb2

STREAMS = int(os.environ.get('UDPA_STREAMS', '5000'))
IDENTITIES = int(os.environ.get('UDPA_IDENTITIES', '50'))
REVOKED = int(os.environ.get('UDPA_REVOKED', '1000'))
LIMIT_S = 5
METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
OPENING = 200 # at a time: each is answered before there are more


class Stream:
    def __init__(self, channel, who):
        self.who = who
        self.call = channel.stream_stream(
            METHOD, request_serializer=discovery_pb2.DeltaDiscoveryRequest.SerializeToString,
            response_deserializer=discovery_pb2.DeltaDiscoveryResponse.FromString)()
        self.has = asyncio.Event()
        self.lost_at = self.ended_at = None
        self.code = self.details = None

    async def ask(self, request):
        try:
            await self.call.write(request)
        except asyncio.InvalidStateError: # it has ended meanwhile
            pass

    async def run(self):
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER)
        request.node.id = self.who
        await self.ask(request)
        try:
            async for response in self.call:
                if response.resources:
                    self.has.set()
                if response.removed_resources: # not answered: grpcio makes an error of its own of
                    self.lost_at = time.monotonic() # what meets the end of the stream
                    continue
                await self.ask(discovery_pb2.DeltaDiscoveryRequest(
                    type_url=CLUSTER, response_nonce=response.nonce))
        except grpc.aio.AioRpcError as error:
            self.code, self.details = error.code(), error.details()
        self.ended_at = time.monotonic()


def prepare(test):
    ca = Authority(test.work / 'ca')
    for name in ['node', *(f'client-{i}' for i in range(IDENTITIES))]:
        ca.issue(name)
    ca.revoke_others(REVOKED)
    crl = test.work / 'ca.crl'
    replace(crl, ca.revocations())
    resources = test.work / 'resources'
    resources.mkdir()
    (resources / 'one.yaml').write_text(
        f'name: local/one\nresource: {{"@type": {CLUSTER}, name: one, connect_timeout: 1s}}\n')
    return ca, crl, resources


def write_config(test, ca, crl, resources, clients):
    path = test.work / 'node.yaml'
    replace(path, json.dumps({
        'descriptor_sets': [str(udpactl.descriptors(test))],
        'sockets': [{'address': '127.0.0.1:0', 'tls': {
            'certificate_file': str(ca.folder / 'node.crt'),
            'private_key_file': str(ca.folder / 'node.key'),
            'client_ca_file': str(ca.certificate), 'crl_file': str(crl)}}],
        'static_resources': {'directories': [{'path': str(resources), 'namespace': 'local'}]},
        'acl': {'rules': [{'name': 'clients', 'identities': clients,
                           'actions': ['SUBSCRIBE']}]}}))
    return path


async def open_streams(ca, node):
    channels, streams, tasks = [], [], []
    for i in range(IDENTITIES):
        path = ca.folder / f'client-{i}.crt'
        credentials = grpc.ssl_channel_credentials(
            ca.certificate.read_bytes(), path.with_suffix('.key').read_bytes(), path.read_bytes())
        channels.append(grpc.aio.secure_channel(f'localhost:{node.port}', credentials,
                                                [('grpc.use_local_subchannel_pool', 1)]))
    for begin in range(0, STREAMS, OPENING):
        some = [Stream(channels[i % IDENTITIES], f'client-{i % IDENTITIES}')
                for i in range(begin, min(begin + OPENING, STREAMS))]
        tasks += [asyncio.create_task(stream.run()) for stream in some]
        for stream in some:
            await asyncio.wait_for(stream.has.wait(), 60)
        streams += some
    return channels, streams, tasks


def number(stream):
    return int(stream.who.split('-')[1])


async def wait_until(what, look):
    end = time.monotonic() + 30
    while not look():
        if time.monotonic() > end:
            raise interop.Failure(f'{what} was not seen')
        await asyncio.sleep(0.01)


async def revoke(ca, crl, streams):
    half = [stream for stream in streams if number(stream) % 2]
    rest = [stream for stream in streams if number(stream) % 2 == 0]
    for i in range(1, IDENTITIES, 2):
        ca.revoke(f'client-{i}', 'keyCompromise')
    replace(crl, ca.revocations())
    since = time.monotonic()
    await wait_until('the end of the revoked', lambda: all(one.ended_at for one in half))
    times = sorted(one.ended_at - since for one in half)
    interop.check(f'{len(half)} of {len(streams)} streams are cut off: the first after '
                  f'{times[0]:.2f} s, the last after {times[-1]:.2f} s', times[-1] < LIMIT_S)
    interop.check('and are told why', all(
        one.code == grpc.StatusCode.UNAUTHENTICATED and 'was revoked' in one.details
        for one in half))
    interop.check('nobody else is', not any(one.ended_at or one.lost_at for one in rest))
    return rest


async def restrict(test, paths, streams):
    kept = [f'client-{i}' for i in range(0, IDENTITIES, 4)]
    half = [stream for stream in streams if stream.who not in kept]
    rest = [stream for stream in streams if stream.who in kept]
    write_config(test, *paths, kept)
    since = time.monotonic()
    await wait_until('the end of the others', lambda: all(one.ended_at for one in half))
    lost = max(one.lost_at - since for one in half if one.lost_at)
    ended = max(one.ended_at - since for one in half)
    interop.check(f'from {len(half)} streams that no rule is for any more it is taken back within '
                  f'{lost:.2f} s', all(one.lost_at for one in half) and lost < LIMIT_S)
    ends = collections.Counter(f'{one.code}: {one.details}' for one in half)
    interop.check(f'and they end within {ended:.2f} s: {dict(ends)}', ended < LIMIT_S and
                  all(one.code == grpc.StatusCode.PERMISSION_DENIED for one in half))
    interop.check(f'{len(rest)} go on', not any(one.ended_at or one.lost_at for one in rest))


async def talk(test):
    paths = prepare(test)
    ca, crl, _ = paths
    node = interop.Node(test, 'node', None, write_config(test, *paths, ['client-*']))
    begin = time.monotonic()
    channels, streams, tasks = await open_streams(ca, node)
    print(f'{len(streams)} streams of {IDENTITIES} identities opened within '
          f'{time.monotonic() - begin:.1f} s', flush=True)
    rest = await revoke(ca, crl, streams)
    await restrict(test, paths, rest)
    for task in tasks:
        task.cancel()
    for channel in channels:
        await channel.close()


def body(test):
    asyncio.run(talk(test))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
