#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients are spread over replicas, and lose nothing by it.

replicas: raw streams behind a balancer of connections; a replica that was away gets its share by a
rebalance, and clients that know one address alone are served. age: Envoy and gRPC, at a node and at one
below it, while each stream lasts 2 s (max_stream_age).
"""
import asyncio
import collections
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request

import interop
import envoy_peer
import envoy_resources as resources
import grpc
import grpc_service
import udpactl
from envoy.service.discovery.v3 import discovery_pb2
from interop import Failure, check, free_ports, wait_for

from etcd import Cluster, program_or_skip
from grpc_clients import METHOD, Backend
from test_envoy_replicas import Envoy, Traffic, Upstream
from test_replicas import NODE_ID, PREFIX_KEY, Replica
from udpa_peer import Peer
from xds_peer import CLUSTER, METHODS

NAMES = 'abc'
N_STREAMS, N_CLUSTERS, N_ALONE, N_LATE = 300, 20, 200, 60
SHARE = N_STREAMS // len(NAMES)
PATIENCE_S = 20 # of a rebalance
OVER_S = 10
AGE_S, AGED_S = 2, 15
BACKOFF_S = 0.5 # of Envoy


# ---- clients ----

class Balancer:
    """Of connections, round robin over those who take them."""

    def __init__(self, ports):
        self.ports, self.next = ports, itertools.cycle(ports)
        self.port = None

    async def start(self):
        server = await asyncio.start_server(self.on_client, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]

    async def connect(self):
        for _ in self.ports:
            try:
                return await asyncio.open_connection('127.0.0.1', next(self.next))
            except OSError:
                pass
        return None

    @staticmethod
    async def pump(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except (OSError, RuntimeError):
            writer.close()

    async def on_client(self, reader, writer):
        """Either half may end before the other, as it is with real ones."""
        there = await self.connect()
        if there:
            await asyncio.gather(self.pump(reader, there[1]), self.pump(there[0], writer))
            there[1].close()
        writer.close()


class Stream:
    """A client of xDS that opens its stream again as Envoy does, on the same channel."""

    def __init__(self, n, port):
        self.n = n
        # Otherwise all would share a connection.
        self.channel = grpc.aio.insecure_channel(f'127.0.0.1:{port}', [
            ('udpa.n', n), ('grpc.use_local_subchannel_pool', 1),
            ('grpc.initial_reconnect_backoff_ms', 100), ('grpc.min_reconnect_backoff_ms', 100),
            ('grpc.max_reconnect_backoff_ms', 500)])
        self.call = self.channel.stream_stream(
            METHODS[True], request_serializer=discovery_pb2.DeltaDiscoveryRequest.SerializeToString,
            response_deserializer=discovery_pb2.DeltaDiscoveryResponse.FromString)
        self.is_served, self.n_begun = False, 0
        self.rejected, self.most_rejected = 0, 0
        self.has, self.removed = {}, []
        self.without_since, self.longest_s = time.monotonic(), 0
        self.errors = collections.deque(maxlen=10)

    async def once(self):
        stream = self.call()
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER,
                                                      initial_resource_versions=self.has)
        request.node.id = f'client-{self.n}'
        await stream.write(request)
        async for response in stream:
            if not self.is_served:
                self.longest_s = max(self.longest_s, time.monotonic() - self.without_since)
                self.rejected, self.is_served = 0, True
                self.n_begun += 1
            self.has.update({one.name: one.version for one in response.resources})
            self.removed += response.removed_resources
            await stream.write(discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER,
                                                                   response_nonce=response.nonce))

    def story(self):
        return f'client {self.n} is without a stream for {time.monotonic() - self.without_since:.1f} s: ' \
            f'{list(self.errors)}'

    def note(self, error):
        self.errors.append((round(time.monotonic() - self.without_since, 1), error.details()))
        pushback = dict(error.trailing_metadata() or ()).get('grpc-retry-pushback-ms')
        if 'its share is' in error.details():
            if pushback != '1000':
                raise Failure(f'rejected without a hint: {error}')
            self.rejected += 1
            self.most_rejected = max(self.most_rejected, self.rejected)

    async def run(self):
        backoff_s = BACKOFF_S
        while True:
            try:
                await self.once()
            except grpc.aio.AioRpcError as error:
                self.note(error)
            if self.is_served:
                self.is_served, self.without_since, backoff_s = False, time.monotonic(), BACKOFF_S
            await asyncio.sleep(random.random() * backoff_s)
            backoff_s = min(2 * backoff_s, 30)


class Crowd(threading.Thread):
    """Clients, on a loop of their own; ports: of replicas behind the balancer."""

    def __init__(self, ports):
        super().__init__(daemon=True)
        self.balancer, self.streams = Balancer(ports), []
        self.tasks = []
        self.loop = None
        self.started = threading.Event()
        self.start()
        self.started.wait()

    async def begin(self):
        self.loop = asyncio.get_running_loop()
        await self.balancer.start()
        self.started.set()
        await asyncio.Event().wait()

    def run(self):
        asyncio.run(self.begin())

    async def open(self, n, port):
        for _ in range(n):
            self.streams.append(Stream(len(self.streams), port))
            self.tasks.append(asyncio.create_task(self.streams[-1].run()))
            await asyncio.sleep(0.002)

    def add(self, n, port=None):
        """Behind the balancer, or at this port alone."""
        first = len(self.streams)
        asyncio.run_coroutine_threadsafe(self.open(n, port or self.balancer.port), self.loop).result()
        return self.streams[first:]

    async def stop(self, streams):
        for stream in streams:
            self.tasks[stream.n].cancel()
            await stream.channel.close()

    def end(self, streams=None):
        asyncio.run_coroutine_threadsafe(self.stop(streams or self.streams), self.loop).result()

    def failure(self):
        return next((one.exception() for one in self.tasks if one.done() and not one.cancelled()), None)


def are_served(crowd, streams):
    if failure := crowd.failure():
        raise failure
    return all(one.is_served for one in streams)


# ---- replicas ----

class Spread(Replica):
    """With pages."""

    def __init__(self, test, cluster, name, port=None, **more):
        self.http = more.get('http') or free_ports(1)[0]
        path = test.work / f'{name}.spread.yaml'
        path.write_text(json.dumps({
            'node': {'id': NODE_ID}, 'http': {'admin_pages': True, 'sockets': [{'address': f'127.0.0.1:{self.http}'}]},
            'store': {'directory': str(test.work / f'{name}-data'), 'engine': 'ETCD', 'prefix': PREFIX_KEY,
                      'endpoints': cluster.endpoints}}), encoding='utf-8')
        self.test, self.cluster, self.name = test, cluster, name
        self.port = port or free_ports(1)[0]
        self.address = f'127.0.0.1:{self.port}'
        interop.Process.__init__(self, [test.build / 'udpad', '-c', path, '--listen', self.address],
                                 test.work / f'{name}.log')
        test.processes.append(self)
        self.wait_for_log('listening on ')

    def again(self, **more):
        return Spread(self.test, self.cluster, self.name, self.port, http=self.http)

    def stats(self):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.http}/stats', timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return {name: int(value) for name, value in (line.split(': ') for line in lines if ': ' in line)}

    def streams(self):
        return self.stats()['client_streams']

    def rebalance(self, *words):
        return self.take('replicas', 'rebalance', '--http', f'127.0.0.1:{self.http}', *words)


def counts(replicas):
    return {one.name: one.streams() for one in replicas}


def has_all(text, n):
    """A table of status replicas with these sums."""
    rows = [line.split() for line in text.splitlines() if '127.0.0.1:' in line]
    return len(rows) == n and rows


def published():
    return [(f'cluster-{n:02}', envoy_peer.static_cluster(f'cluster-{n:02}')) for n in range(N_CLUSTERS)]


def check_share(replicas, crowd, begin):
    """Each within 20 % of it, and it stays so."""
    def is_even():
        found = counts(replicas)
        return sum(found.values()) == N_STREAMS and \
            all(abs(n - SHARE) <= SHARE / 5 for n in found.values()) and found
    try:
        found = wait_for('an even spread', is_even, PATIENCE_S)
    except Failure:
        print(*((one.name, one.stats()) for one in replicas), sep='\n')
        print(*(one.story() for one in crowd.streams[:N_STREAMS] if not one.is_served), sep='\n')
        raise
    check(f'each has its share of {SHARE} within 20 % after {time.monotonic() - begin:.1f} s: {found}', True)


def check_rebalance(replicas, crowd):
    """One was killed, and is there again."""
    lost = replicas.pop()
    lost.kill_hard()
    wait_for('the streams elsewhere', lambda: sum(counts(replicas).values()) == N_STREAMS, PATIENCE_S)
    check(f'one is killed: its streams go to the others: {counts(replicas)}', True)
    time.sleep(1)
    replicas.append(lost.again())
    rows = wait_for('three replicas with their streams', lambda: has_all(
        replicas[0].take('status', 'replicas'), 3), PATIENCE_S)
    print(f'   {rows}')
    interop.never('it has streams again', lambda: replicas[-1].streams() > SHARE / 2, 3)
    began = [one.n_begun for one in crowd.streams[:N_STREAMS]]
    begin = time.monotonic()
    print(replicas[-1].rebalance('--over', f'{OVER_S}s'))
    check_share(replicas, crowd, begin)
    time.sleep(max(0, begin + OVER_S + 6 - time.monotonic()))
    check_share(replicas, crowd, time.monotonic())
    moves = [one.n_begun - before for one, before in zip(crowd.streams, began)]
    stats = [one.stats() for one in replicas]
    check(f'{sum(map(bool, moves))} of {len(moves)} clients have moved, none more often than '
          f'{max(moves)} times; moved {[one["streams_moved"] for one in stats]}, rejected '
          f'{[one["streams_above_share"] for one in stats]}', SHARE / 2 < sum(map(bool, moves)))
    before = [one.n_begun for one in crowd.streams]
    time.sleep(3)
    check('nobody moves any more', before == [one.n_begun for one in crowd.streams])


def check_rejected(replicas, crowd):
    """One has too many, and the others have room: most of those that come go there."""
    alone = crowd.add(N_ALONE, replicas[0].port)
    replicas[0].wait_for_log('it rejects new ones')
    before = replicas[0].streams()
    late = crowd.add(N_LATE)
    wait_for('those that come late', lambda: are_served(crowd, late), PATIENCE_S)
    taken, rejected = replicas[0].streams() - before, replicas[0].stats()['streams_above_share']
    check(f'of {N_LATE} that come while one has too many, that takes {taken}; {rejected} rejected so far',
          taken < N_LATE / 4)
    crowd.end(alone + late)
    wait_for('their end', lambda: sum(counts(replicas).values()) == N_STREAMS, PATIENCE_S)


def check_alone(replicas, crowd):
    """Clients that know one replica alone are served by it, though the others have fewer."""
    begin = time.monotonic()
    alone = crowd.add(N_ALONE, replicas[0].port)
    wait_for('those that have one address', lambda: are_served(crowd, alone), PATIENCE_S)
    rejected = collections.Counter(one.most_rejected for one in alone)
    check(f'{N_ALONE} clients with one address are served within {time.monotonic() - begin:.1f} s; how often '
          f'rejected: {dict(rejected)}; {counts(replicas)}', max(rejected) <= 1)
    before = replicas[0].stats()['streams_above_share']
    print(replicas[1].rebalance('--over', '5s'))
    time.sleep(12)
    wait_for('those that have one address, again', lambda: are_served(crowd, alone), PATIENCE_S)
    check(f'and after a rebalance: {counts(replicas)}; rejected once more '
          f'{replicas[0].stats()["streams_above_share"] - before} times', True)
    crowd.end(alone)


def check_replicas(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), count=1)
    replicas = [Spread(test, cluster, name) for name in NAMES]
    with replicas[0].peer() as peer:
        peer.publish(published())
    crowd = Crowd([one.port for one in replicas])
    crowd.add(N_STREAMS)
    wait_for('all clients', lambda: are_served(crowd, crowd.streams), 2 * PATIENCE_S)
    check(f'{N_STREAMS} clients behind a balancer: {counts(replicas)}', True)
    check_rejected(replicas, crowd)
    check_rebalance(replicas, crowd)
    for one in crowd.streams[:N_STREAMS]:
        if len(one.has) != N_CLUSTERS or one.removed:
            raise Failure(f'client {one.n} has {len(one.has)} clusters; removed {one.removed}')
    check(f'all have all {N_CLUSTERS} clusters, and none was ever removed; the longest was without a '
          f'stream for {max(one.longest_s for one in crowd.streams):.1f} s', True)
    rejected = collections.Counter(one.most_rejected for one in crowd.streams)
    check(f'how often in a row they were rejected, at most: {dict(rejected)}', max(rejected) < len(NAMES))
    check_alone(replicas, crowd)
    crowd.end()
    check('one alone has nothing to share', 'one replica only' in one_alone(replicas))


def one_alone(replicas):
    for one in replicas[1:]:
        one.end()
    wait_for('the end of their leases', lambda: has_all(replicas[0].take('status', 'replicas'), 1), PATIENCE_S)
    status, text = replicas[0].ctl('replicas', 'rebalance', '--http', f'127.0.0.1:{replicas[0].http}')
    return text if status == 1 else ''


# ---- max_stream_age ----

def aged_node(test, name, source=None):
    http = free_ports(1)[0]
    config = {'timing': {'max_stream_age': f'{AGE_S}s'},
              'http': {'admin_pages': True, 'sockets': [{'address': f'127.0.0.1:{http}'}]}}
    if source:
        config['static_resources'] = {'config_sources': [
            {'name': 'above', 'udpa': {'address': source.address}}]}
        config['providers'] = [{'types': [resources.TYPE_LISTENER, envoy_peer.TYPE_CLUSTER,
                                          'envoy.config.route.v3.RouteConfiguration',
                                          'envoy.config.endpoint.v3.ClusterLoadAssignment'],
                                'config_descriptors': [{'resource_name': 'above'}]}]
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps(config), encoding='utf-8')
    node = interop.Node(test, name, bootstrap=path)
    node.http = http
    return node


class AgedEnvoy(envoy_peer.Envoy):
    def __init__(self, test, binary, node):
        name = f'envoy-at-{node.name}'
        config = envoy_peer.bootstrap(name, 'DELTA_GRPC', node.port)
        config['dynamic_resources']['lds_config'] = envoy_peer.ADS
        super().__init__(test, binary, node.port, name, config)
        self.traffic = Traffic(wait_for('the listener', lambda: self.listener_ports().get('front')))

    def check(self):
        self.traffic.stopped.set()
        self.traffic.join()
        check(f'{self.name}: {self.traffic.n_answered} requests answered, the longest after '
              f'{1000 * self.traffic.longest_s:.0f} ms',
              not self.traffic.failures or print(*self.traffic.failures[:20], sep='\n'))
        removed = {name: value for name, value in self.stats(Envoy.REMOVED).items() if value}
        check('  nothing removed, said again or refused', not removed or print(removed))
        lines = [line for line in self.text().splitlines() if 'gRPC' in line]
        check('  and its log does not mention streams', not lines or print(*lines, sep='\n'))


class Calls(threading.Thread):
    """Of gRPC's own xDS client."""

    def __init__(self, channel):
        super().__init__(daemon=True)
        self.call = channel.unary_unary(METHOD)
        self.stopped, self.n, self.failures = threading.Event(), 0, []

    def run(self):
        while not self.stopped.is_set():
            try:
                self.call(b'', timeout=5)
                self.n += 1
            except grpc.RpcError as error:
                self.failures.append(f'{error.code()}: {error.details()}')
            time.sleep(0.02)


def aged(node):
    with urllib.request.urlopen(f'http://127.0.0.1:{node.http}/stats', timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return next(int(line.split(': ')[1]) for line in lines if line.startswith('streams_aged'))


def apply(test, node, file):
    done = subprocess.run([test.build / 'udpactl', '--server', node.address, '--descriptors',
                           udpactl.descriptors(test), 'apply', '-f', file], capture_output=True, text=True,
                          check=False, timeout=udpactl.PATIENCE_S)
    if done.returncode:
        raise Failure(f'apply: {done.returncode}: {done.stdout}{done.stderr}')


def publish(test, node, upstream):
    routes = [{'match': {'prefix': '/'}, 'route': {'cluster': 'backend'}}]
    messages = [envoy_peer.eds_cluster('backend'), upstream.assignment('backend', 1),
                resources.listener('front', resources.by_rds('main', envoy_peer.ADS)),
                resources.route('main', routes)]
    for n, message in enumerate(messages):
        apply(test, node, udpactl.write(test, f'published-{n}.json', message))


def check_age(test):
    binary = interop.envoy_or_skip()
    upstream, backend = Upstream(), Backend('grpc')
    above = aged_node(test, 'above')
    below = aged_node(test, 'below', above)
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(below.address)
    publish(test, above, upstream)
    with Peer(test.build, above.address) as peer:
        peer.publish(grpc_service.resources(backend.port))
        peer_stays(peer)
    envoys = [AgedEnvoy(test, binary, node) for node in (above, below)]
    with grpc.insecure_channel(f'xds:///{grpc_service.NAME}') as channel:
        channel.unary_unary(METHOD)(b'', timeout=10, wait_for_ready=True)
        calls = Calls(channel)
        for one in [*(envoy.traffic for envoy in envoys), calls]:
            one.start()
        last, end = 1, time.monotonic() + AGED_S
        while time.monotonic() < end:
            last += 1
            apply(test, above, udpactl.write(test, 'changed.json', upstream.assignment('backend', last)))
            time.sleep(0.2)
        for envoy in envoys:
            wait_for(f'{last} in {envoy.name}', lambda one=envoy: one.traffic.last == last)
        check(f'{last} changes came through', True)
        calls.stopped.set()
        calls.join()
        check(f'{calls.n} calls of gRPC', calls.n > 100 and not calls.failures or print(calls.failures[:10]))
    for envoy in envoys:
        envoy.check()
    n_above, n_below = aged(above), aged(below)
    check(f'streams ended at their age: {n_above}, {n_below}', min(n_above, n_below) >= AGED_S / AGE_S - 2)
    backend.server.stop(0)


def peer_stays(peer):
    """A stream of UDPA ends, too, with words."""
    begin = time.monotonic()
    while not isinstance(message := peer.inbox.get(timeout=10), Exception):
        pass
    took_s = time.monotonic() - begin
    check(f'a stream of UDPA ends after {took_s:.1f} s: {message.code()}: {message.details()}',
          message.code() == grpc.StatusCode.UNAVAILABLE and 'max_stream_age' in message.details() and
          took_s < 1.2 * AGE_S)


def body(test):
    if test.variant == 'replicas':
        check_replicas(test)
    else:
        check_age(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('replicas', 'age')))
