#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A changed cluster with EDS is used at once: its endpoints go out again behind it, though they
have not changed. Without them Envoy holds the new cluster back for 15 s. The same when it changes
while Envoy is away."""
import asyncio
import sys
import threading
import time

import interop
import envoy_peer
from udpa_peer import Peer

BOUND_S = 2
N_CHANGES = 3
RECONNECTION_S = 5 # Envoy waits longer each time


class Gate:
    """Passes TCP on while it is open, and ends all connections when it closes."""

    def __init__(self, port):
        self.to_port, self.port, self.is_open = port, None, True
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.loop.run_until_complete, args=(self.serve(started),), daemon=True).start()
        started.wait()

    async def serve(self, started):
        server = await asyncio.start_server(self.accept, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        async with server:
            await server.serve_forever()

    async def accept(self, reader, writer):
        self.writers.add(writer)
        if self.is_open:
            there_reader, there_writer = await asyncio.open_connection('127.0.0.1', self.to_port)
            self.writers.add(there_writer)
            await asyncio.gather(self.copy(reader, there_writer), self.copy(there_reader, writer))
        writer.close()

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()

    async def end_all(self):
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    def close(self):
        self.is_open = False
        asyncio.run_coroutine_threadsafe(self.end_all(), self.loop).result()

    def open(self):
        self.is_open = True


def change_while_away(test, peer, envoy, gate):
    n = envoy.stat('cluster.other.update_success')
    for i in range(N_CHANGES):
        gate.close()
        timeout = f'{12 + i}s'
        peer.publish([('backend', envoy_peer.eds_cluster('backend', timeout))])
        gate.open()
        begin = time.monotonic()
        envoy.wait_for_timeout('backend', timeout)
        took = time.monotonic() - begin
        interop.check(f'change {i + 1} while Envoy is away is used after {took:.2f} s',
                      took < RECONNECTION_S)
    if test.variant == 'delta':
        interop.check('endpoints that nobody waits for did not come again',
                      envoy.stat('cluster.other.update_success') == n)


def body(test):
    binary = interop.envoy_or_skip()
    node = interop.Node(test, 'node')
    names = ['backend', 'other']
    with Peer(test.build, node.address) as peer:
        peer.publish((name, envoy_peer.eds_cluster(name)) for name in names)
        peer.publish((name, envoy_peer.assignment(name)) for name in names)
        gate = Gate(node.port)
        envoy = envoy_peer.Envoy(test, binary, gate.port)
        begin = time.monotonic()
        envoy.wait_for_clusters(names)
        took = time.monotonic() - begin
        interop.check(f'both clusters are used after {took:.2f} s', took < BOUND_S)
        for i in range(N_CHANGES):
            timeout = f'{2 + i}s'
            begin = time.monotonic()
            peer.publish([('backend', envoy_peer.eds_cluster('backend', timeout))])
            envoy.wait_for_timeout('backend', timeout)
            took = time.monotonic() - begin
            interop.check(f'change {i + 1} is used after {took:.2f} s', took < BOUND_S)
            interop.check('no cluster warms',
                          envoy.stat('cluster_manager.warming_clusters') in (0, None))
        change_while_away(test, peer, envoy, gate)
        interop.check('the cluster beside it stayed as it was',
                      envoy.active_clusters()['other']['connect_timeout'] == '1s')
        interop.check('Envoy never gave up waiting for endpoints',
                      not envoy.stat('cluster.backend.init_fetch_timeout'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
