#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that ask for very much, never read, refuse everything or come back a thousand at a time: the
node's memory stays within bounds, and a client beside them is served promptly all the while."""
import asyncio
import contextlib
import os
import sys
import threading
import time

import interop
import grpc
import envoy_peer
from udpa_peer import Peer, sessions
from xds_peer import (CLUSTER, ENDPOINTS, METHODS, NO_LIMIT, OWN_CONNECTION, PATIENCE_S, Client,
                      Watcher, discovery_pb2)

MIB = 1024 * 1024
N_NAMES = 10000
N_LARGE, LARGE = 1200, 10000 # 12 MB in all
DEFAULT_LIMIT = 4 * MIB # of what a client of gRPC receives
N_SILENT, N_ROUNDS, N_IN_A_ROUND = 20, 30, 30
N_REFUSALS, N_CHANGES = 10000, 10
N_CROWD = 1000
NODE_BYTES = 61000 # of an Envoy, most of it extensions
# The machine may be busy, and the node built with sanitizers; but who had to wait for one of these
# clients would wait for much longer.
PROMPT_S = 5


def large_assignment(name, mark):
    message = envoy_peer.assignment(name)
    message.endpoints[0].lb_endpoints[0].endpoint.hostname = f'{mark}'.ljust(LARGE, 'x')
    return message


def large_cluster(name, mark):
    message = envoy_peer.static_cluster(name)
    message.alt_stat_name = f'{mark}'.ljust(LARGE, 'x')
    return message


class Bench:
    """A node, who publishes to it, and the client that must not suffer."""

    def __init__(self, test, node, peer):
        self.test = test
        self.node = node
        self.peer = peer
        self.watcher = Watcher(node.address)
        self.n_marks = 0

    def memory(self, field):
        with open(f'/proc/{self.node.process.pid}/status', encoding='ascii') as status:
            line = next(line for line in status if line.startswith(field))
        return int(line.split()[1]) * 1024

    def stays_below(self, what, growth, body):
        """The peak of what the node takes while body() runs, above what it had before."""
        before = self.memory('VmRSS')
        with open(f'/proc/{self.node.process.pid}/clear_refs', 'w', encoding='ascii') as peak:
            peak.write('5')
        body()
        grown = max(self.memory('VmHWM') - before, 0)
        interop.check(f'{what}: {grown / MIB:.0f} MiB more at the peak, of at most '
                      f'{growth / MIB:.0f}', grown <= growth)

    def watched(self):
        """The cluster that changes for the watcher."""
        return envoy_peer.static_cluster('watched', f'{self.n_marks}.25s')

    def serves_others(self):
        """A change is on its way to a client for as long as this."""
        self.n_marks += 1
        changed = self.watched()
        begin = time.monotonic()
        self.peer.publish([('watched', changed)])
        self.watcher.wait_for(changed.SerializeToString(), PATIENCE_S)
        took = time.monotonic() - begin
        if took > PROMPT_S:
            raise interop.Failure(f'the client beside waited {took:.1f} s')
        return took

    def publish(self, resources, n_at_once=300):
        resources = list(resources)
        for i in range(0, len(resources), n_at_once):
            self.peer.publish(resources[i:i + n_at_once])


def collect(client, is_complete):
    """Responses until they are complete; each must be one that any client would take."""
    sizes = []
    while not is_complete():
        response = client.receive()
        sizes.append(response.ByteSize())
        yield response
    if max(sizes) > DEFAULT_LIMIT:
        raise interop.Failure(f'a response had {max(sizes)} bytes')


# ---- much at once ----

def ten_thousand_names(bench):
    """Half of them are there."""
    there = [f'name-{i:05}' for i in range(0, N_NAMES, 2)]
    bench.publish(((name, envoy_peer.assignment(name)) for name in there), 1000)
    names = [f'name-{i:05}' for i in range(N_NAMES)]

    def ask():
        with Client(bench.node.address) as client:
            found, missing = set(), set()
            client.send(ENDPOINTS, names)
            for response in collect(client, lambda: len(found) + len(missing) >= N_NAMES):
                found.update(resource.name for resource in response.resources)
                missing.update(response.removed_resources)
            interop.check(f'delta: of {N_NAMES} names in one request, {len(found)} came and '
                          f'{len(missing)} are told to be missing', found == set(there))
        with Client(bench.node.address, is_delta=False) as client:
            n_found = 0
            client.send(ENDPOINTS, names)
            for response in collect(client, lambda: n_found >= len(there)):
                n_found += len(response.resources)
            interop.check(f'SotW: {n_found} came', n_found == len(there))
        bench.serves_others()

    bench.stays_below('ten thousand names', 48 * MIB, ask)


def more_than_four_mib(bench):
    """Delta, and SotW where it may, in responses that clients take by default; clusters whole."""
    names = [f'large-{i:04}' for i in range(N_LARGE)]
    bench.publish((name, large_assignment(name, 0)) for name in names)
    bench.publish((name, large_cluster(name, 0)) for name in names)

    def ask():
        for is_delta, type_url, asked in ((True, ENDPOINTS, names), (True, CLUSTER, names),
                                          (False, ENDPOINTS, names)):
            with Client(bench.node.address, is_delta) as client:
                n_found = 0
                client.send(type_url, asked)
                for response in collect(client, lambda: n_found >= N_LARGE):
                    n_found += len(response.resources)
            interop.check(f'{"delta" if is_delta else "SotW"}: {n_found} large ones of '
                          f'{type_url.rsplit(".", 1)[1]} came', n_found == N_LARGE)
        with Client(bench.node.address, is_delta=False, options=[NO_LIMIT]) as client:
            client.send(CLUSTER, names)
            response = client.receive()
            interop.check(f'SotW: clusters come whole, in {response.ByteSize() / MIB:.1f} MiB',
                          len(response.resources) == N_LARGE)
        bench.serves_others()

    bench.stays_below('responses above 4 MiB', 48 * MIB, ask)


def requests_of_an_envoy(bench):
    """Each of them has the whole Node, which is almost a window of HTTP/2."""
    def ask():
        with Client(bench.node.address) as client:
            for i in range(100):
                request = discovery_pb2.DeltaDiscoveryRequest(
                    type_url=ENDPOINTS, resource_names_subscribe=[f'large-{i:04}'])
                request.node.id = 'envoy'
                while request.ByteSize() < NODE_BYTES:
                    request.node.extensions.add(name='envoy.filters.http.something' * 3)
                client.outbox.put(request)
            n_found = 0
            for response in collect(client, lambda: n_found >= 100):
                n_found += len(response.resources)
        bench.serves_others()

    bench.stays_below('a hundred requests of 61 kB', 16 * MIB, ask)


# ---- who does not behave ----

def who_never_reads(bench):
    """Were their responses queued, each change would be kept twenty times, and for those that want all
    clusters, all clusters with it."""
    names = [f'large-{i:04}' for i in range(N_IN_A_ROUND)]

    def change(clients):
        for client in clients:
            client.send(ENDPOINTS if client.is_delta else CLUSTER, ['*'])
        longest = 0
        for i in range(1, N_ROUNDS + 1):
            bench.publish((name, large_assignment(name, f'round {i} ')) for name in names)
            longest = max(longest, bench.serves_others())
        interop.check(f'{N_SILENT} clients do not read, and another has each of {N_ROUNDS} '
                      f'changes within {longest:.2f} s', True)

    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(bench.node.address, i % 2 == 0, options=[NO_LIMIT]))
                   for i in range(N_SILENT)]
        bench.stays_below('clients that never read', 64 * MIB, lambda: change(clients))
        last = f'round {N_ROUNDS} '.encode()
        waited_for = set(names)
        for response in collect(clients[0], lambda: not waited_for):
            waited_for -= {resource.name for resource in response.resources
                           if last in resource.resource.value}
        interop.check('one of them reads at last, and has the last change of all', True)
        last = bench.watched().SerializeToString()
        while not any(cluster.value == last for cluster in clients[1].receive().resources):
            pass
        interop.check('and one that wants all clusters', True)
    bench.peer.remove(envoy_peer.TYPE_CLUSTER, [f'large-{i:04}' for i in range(N_LARGE)])


def refuse_everything(bench, is_delta):
    responses = []
    with Client(bench.node.address, is_delta) as client:
        client.send(CLUSTER)
        responses.append(client.receive())

        def refuse():
            for i in range(N_REFUSALS):
                client.answer(responses[-1], error=f'I do not like it, for the time number {i}')

        def read():
            for response in client.stream:
                responses.append(response)
                client.answer(response, error='nor this one')
                if response.type_url == ENDPOINTS:
                    return

        threads = [threading.Thread(target=one, daemon=True) for one in (refuse, read)]
        for thread in threads:
            thread.start()
        longest = max(bench.serves_others() for _ in range(N_CHANGES))
        threads[0].join()
        client.send(ENDPOINTS, ['large-0000']) # answered behind all refusals
        threads[1].join(PATIENCE_S)
        n_responses = len(responses) - 1
        interop.check(f'{client.method.rsplit("/", 1)[1]}, {N_REFUSALS} refusals and {N_CHANGES} '
                      f'changes: {n_responses} responses; a client beside waited {longest:.2f} s at '
                      'most', responses[-1].type_url == ENDPOINTS and n_responses <= N_CHANGES + 1)


def who_refuses_everything(bench):
    """Every answer a refusal, and ten thousand of them unasked: a response for each change, no more."""
    for is_delta in (False, True):
        bench.stays_below('a client that refuses everything', 16 * MIB,
                          lambda variant=is_delta: refuse_everything(bench, variant))


# ---- a thousand at once ----

async def ask_for_clusters(channel):
    """Returns the stream, which stays open, when the first response has come."""
    stream = channel.stream_stream(
        METHODS[True], request_serializer=discovery_pb2.DeltaDiscoveryRequest.SerializeToString,
        response_deserializer=discovery_pb2.DeltaDiscoveryResponse.FromString)(wait_for_ready=True)
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER)
    request.node.id = 'crowd'
    await stream.write(request)
    response = await stream.read()
    if response is grpc.aio.EOF or not response.resources:
        raise interop.Failure('a client of the crowd was not served')
    return stream


async def open_one(address):
    """A channel with a connection of its own, and its stream. On a busy machine it may be too slow with
    its greeting, and be hung up on; then it tries again, as clients do."""
    channel = grpc.aio.insecure_channel(address, options=[OWN_CONNECTION])
    while True:
        try:
            return channel, await ask_for_clusters(channel)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise interop.Failure(f'a client of the crowd was refused: {error.details()}') \
                    from None


async def open_crowd(address):
    everybody = asyncio.gather(*(open_one(address) for _ in range(N_CROWD)))
    try:
        return await asyncio.wait_for(everybody, 2 * PATIENCE_S)
    except asyncio.TimeoutError:
        raise interop.Failure(f'{N_CROWD} clients were not served within {2 * PATIENCE_S} s') \
            from None


def in_background(function, *arguments):
    return asyncio.get_running_loop().run_in_executor(None, function, *arguments)


async def come_and_come_back(bench):
    """All go at one time and are there again at once."""
    begin = time.monotonic()
    crowd = await open_crowd(bench.node.address)
    first_s = time.monotonic() - begin
    n_there = len(await in_background(sessions, bench.test.build, bench.node.address))
    interop.check(f'{n_there} sessions by the node\'s own word', n_there > N_CROWD)
    begin = time.monotonic()
    leaving = [asyncio.ensure_future(channel.close()) for channel, _ in crowd]
    beside = in_background(bench.serves_others)
    crowd = await open_crowd(bench.node.address)
    again_s = time.monotonic() - begin
    beside_s = await beside
    interop.check(f'{N_CROWD} connections: served after {first_s:.1f} s, and after {again_s:.1f} s '
                  f'when all come back; a client beside them waited {beside_s:.2f} s', True)
    await asyncio.gather(*leaving, *(channel.close() for channel, _ in crowd))


def a_thousand_at_once(bench):
    """For a while the node has those that leave and those that return."""
    bench.stays_below('a thousand clients, twice', 256 * MIB,
                      lambda: asyncio.run(come_and_come_back(bench)))
    bench.serves_others()


def body(test):
    # What was freed would else be kept by the sanitizer, to be found if it is used.
    os.environ['ASAN_OPTIONS'] = os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=4'
    node = interop.Node(test, 'node')
    with Peer(test.build, node.address) as peer:
        bench = Bench(test, node, peer)
        bench.serves_others()
        for one in (ten_thousand_names, more_than_four_mib, requests_of_an_envoy, who_never_reads,
                    who_refuses_everything, a_thousand_at_once):
            begin = time.monotonic()
            one(bench)
            print(f'{one.__name__}: {time.monotonic() - begin:.1f} s', flush=True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
