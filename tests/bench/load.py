#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The load on udpad where there is no Go: the same phases and the same line of JSON as go/load,
with clients on grpcio. They cost more than the server does, so what they see is an upper bound; the CPU
and the memory of the server are its own."""
import argparse
import asyncio
import json
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'interop'))
import interop  # noqa: E402,F401  goes on in the Python that has the packages
import envoy_peer  # noqa: E402
import grpc  # noqa: E402
import udpa_peer  # noqa: E402
from envoy.service.discovery.v3 import discovery_pb2  # noqa: E402

METHODS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/'
CLUSTERS = udpa_peer.PREFIX + 'envoy.config.cluster.v3.Cluster'
ENDPOINTS = udpa_peer.PREFIX + 'envoy.config.endpoint.v3.ClusterLoadAssignment'
KINDS = {'cds': CLUSTERS, 'eds': ENDPOINTS}
QUIET_S = 0.2
PATIENCE_S = 300
BUDGET_S = 2


def name(i):
    return f'cluster-{i:06}'


def make(type_url, i, serial):
    mark = f'serial-{serial:010}'
    if type_url == CLUSTERS:
        cluster = envoy_peer.eds_cluster(name(i))
        cluster.alt_stat_name = mark
        return cluster
    endpoints = envoy_peer.assignment(name(i))
    endpoints.endpoints[0].locality.sub_zone = mark
    return endpoints


class Process:
    """The server, as the kernel sees it."""

    def __init__(self, pid):
        self.folder = pathlib.Path('/proc') / str(pid)

    def cpu_ms(self):
        fields = (self.folder / 'stat').read_text().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf('SC_CLK_TCK')

    def rss_kb(self):
        pages = int((self.folder / 'statm').read_text().split()[1])
        return pages * os.sysconf('SC_PAGE_SIZE') // 1024


class Client:
    """One stream, on a connection of its own."""

    def __init__(self, crowd, index):
        self.crowd = crowd
        self.index = index
        is_delta = crowd.variant == 'delta'
        self.request = (discovery_pb2.DeltaDiscoveryRequest if is_delta
                        else discovery_pb2.DiscoveryRequest)
        self.response = (discovery_pb2.DeltaDiscoveryResponse if is_delta
                         else discovery_pb2.DiscoveryResponse)
        self.names = {('resource_names_subscribe' if is_delta else 'resource_names'):
                      [name(i) for i in range(crowd.n_resources)]}
        self.missing = {kind: {name(i).encode() for i in range(crowd.n_resources)}
                        for kind in KINDS.values()}
        self.seen = 0
        self.channel = grpc.aio.insecure_channel(crowd.address, options=[
            ('grpc.use_local_subchannel_pool', 1), ('grpc.max_receive_message_length', -1)])
        method = 'DeltaAggregatedResources' if is_delta else 'StreamAggregatedResources'
        self.call = self.channel.stream_stream(
            METHODS + method, request_serializer=self.request.SerializeToString)()

    async def note(self, response):
        """What has come of the first state."""
        missing = self.missing[response.type_url]
        for resource in response.resources:
            # Delta has the name beside the payload; else it is at the front of the payload.
            missing.discard(resource.name.encode() if self.crowd.variant == 'delta' else
                            resource.value[2:2 + resource.value[1]])
        if missing:
            return
        del self.missing[response.type_url]
        if response.type_url == CLUSTERS:
            await self.call.write(self.request(type_url=ENDPOINTS, **self.names))
        else:
            self.crowd.n_synced += 1

    async def take(self, data):
        self.crowd.last = time.monotonic()
        response = self.response.FromString(data)
        if self.seen < self.crowd.serial and self.crowd.mark in data:
            self.seen = self.crowd.serial
            self.crowd.took.append(self.crowd.last - self.crowd.begin)
        if response.type_url in self.missing:
            await self.note(response)
        answer = self.request(type_url=response.type_url, response_nonce=response.nonce)
        if self.crowd.variant == 'sotw':
            answer.version_info = response.version_info
            if response.type_url == ENDPOINTS:
                answer.resource_names.extend(self.names['resource_names'])
        await self.call.write(answer)

    async def run(self):
        await self.call.write(self.request(node={'id': f'client-{self.index:05}'},
                                           type_url=CLUSTERS))
        while (data := await self.call.read()) is not grpc.aio.EOF:
            await self.take(data)
        raise interop.Failure(f'client {self.index}: the stream ended')


class Crowd:
    def __init__(self, arguments, peer):
        self.address = arguments.server
        self.variant = arguments.variant
        self.n_resources = arguments.resources
        self.process = Process(arguments.pid)
        self.peer = peer
        self.n_synced = 0
        self.last = self.begin = time.monotonic()
        self.serial, self.mark, self.took = 0, b'', []
        self.clients = [Client(self, i) for i in range(arguments.streams)]

    async def wait_for(self, what, is_so):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            for task in self.tasks:
                if task.done():
                    task.result()
            if time.monotonic() > end:
                raise interop.Failure(f'{what}: not within {PATIENCE_S} s')
            await asyncio.sleep(0.001)

    async def settle(self):
        await self.wait_for('silence', lambda: time.monotonic() - self.last > QUIET_S)

    async def sync_ms(self):
        await asyncio.gather(*(client.channel.channel_ready() for client in self.clients))
        begin = time.monotonic()
        self.tasks = [asyncio.create_task(client.run()) for client in self.clients]
        await self.wait_for('all clients with everything',
                            lambda: self.n_synced == len(self.clients))
        took = self.last - begin
        await self.settle()
        return took * 1000

    async def change(self, type_url, i):
        message = self.peer.udpa_message()
        entry = message.publish.delta.resources.add(name=f'{self.peer.namespace}/{name(i)}')
        self.serial += 1
        entry.resource.type_url = type_url
        entry.resource.value = make(type_url, i, self.serial).SerializeToString()
        self.mark, self.took = f'serial-{self.serial:010}'.encode(), []
        self.begin = time.monotonic()
        self.peer.outbox.put(message)
        await self.wait_for('a change', lambda: len(self.took) == len(self.clients))
        return [1000 * took for took in self.took]

    async def measure(self, type_url):
        every, last = [], []
        begin, cpu_ms = time.monotonic(), self.process.cpu_ms()
        while len(last) < 2 or time.monotonic() - begin < BUDGET_S:
            took = await self.change(type_url, len(last) % self.n_resources)
            every += took
            last.append(max(took))
        await self.settle()
        cpu_ms = self.process.cpu_ms() - cpu_ms
        every.sort()
        return {'n_changes': len(last), 'p50_ms': every[len(every) // 2],
                'p99_ms': every[int(len(every) * 0.99)], 'last_p50_ms': statistics.median(last),
                'cpu_us_delivery': 1000 * cpu_ms / len(every)}

    async def figures(self, loaded_kb):
        cpu_ms = self.process.cpu_ms()
        found = {'rss_loaded_kb': loaded_kb, 'sync_ms': await self.sync_ms()}
        found['sync_cpu_ms'] = self.process.cpu_ms() - cpu_ms
        found['rss_synced_kb'] = self.process.rss_kb()
        found['rss_stream_kb'] = (found['rss_synced_kb'] - loaded_kb) / len(self.clients)
        found['types'] = {kind: await self.measure(url) for kind, url in KINDS.items()}
        found['rss_end_kb'] = self.process.rss_kb()
        return found


async def measure_all(arguments, peer):
    loaded_kb = Process(arguments.pid).rss_kb()
    return await Crowd(arguments, peer).figures(loaded_kb)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('-server', required=True)
    parser.add_argument('-pid', type=int, required=True)
    parser.add_argument('-variant', choices=('delta', 'sotw'), default='delta')
    parser.add_argument('-streams', type=int, default=1000)
    parser.add_argument('-resources', type=int, default=1000)
    parser.add_argument('-descriptors', type=pathlib.Path, required=True,
                        help='the build folder of udpad, for the descriptors of its protocol')
    arguments = parser.parse_args()
    with udpa_peer.Peer(arguments.descriptors, arguments.server, 'bench') as peer:
        for type_url in KINDS.values():
            peer.publish((name(i), make(type_url, i, 0)) for i in range(arguments.resources))
        print(json.dumps(asyncio.run(measure_all(arguments, peer))), flush=True)
    # The clients' streams are still open: nothing is waited for.
    os._exit(0)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except interop.Failure as failure:
        sys.exit(str(failure))
