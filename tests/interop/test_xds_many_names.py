#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sixty-four clients come back at once, each with 100,000 names of 100 bytes and their versions: all are
served, what they send is never in memory all at once, the node stays below 1 GiB, and a client beside them
is answered. The same with names of what does not exist."""
import contextlib
import subprocess
import sys
import threading
import time

import interop
import envoy_peer
from udpa_peer import Peer
from xds_peer import CLUSTER, ENDPOINTS, Client, discovery_pb2

MIB = 1 << 20
N_NAMES, LENGTH, N_AT_ONCE = 100000, 100, 1000
N_CLIENTS, N_PROCESSES = 64, 4
MAX_MESSAGE = 64 * MIB
# What is set aside for messages at a time, and what one takes again while it is dealt with.
MOST_UNFINISHED = 256 * MIB + 2 * 32 * MIB
MEMORY_MAX = 1024 * MIB
PROMPT_S = 10 # the machine is busy with the clients themselves


def names():
    return [f'{i:06}'.ljust(LENGTH, 'n') for i in range(N_NAMES)]


def first_versions(address):
    versions = {}
    with Client(address) as client:
        client.send(ENDPOINTS, names())
        while len(versions) < N_NAMES:
            versions.update((one.name, one.version) for one in client.receive().resources)
    return versions


def request(subscribed, versions):
    resumed = discovery_pb2.DeltaDiscoveryRequest(
        type_url=ENDPOINTS, resource_names_subscribe=subscribed, initial_resource_versions=versions)
    resumed.node.id = 'many'
    return resumed


def be_served(client, n_missing):
    """Of what it has asked for so many do not exist."""
    n_removed, has_clusters = 0, False
    while n_removed < n_missing or not has_clusters:
        response = client.receive()
        has_clusters |= response.type_url == CLUSTER
        n_removed += len(response.removed_resources)
        if response.type_url == ENDPOINTS and response.resources:
            raise interop.Failure('what has not changed was sent')


def come_back(address, file, n_clients, n_missing):
    """In a process of its own; says so when all are served, and stays until it is told to go."""
    resumed = open(file, 'rb').read()
    small = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER)
    small.node.id = 'many'
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(address)) for _ in range(n_clients)]
        for client in clients:
            client.outbox.put(resumed)
            client.outbox.put(small)
        for client in clients:
            be_served(client, n_missing)
        print('served', flush=True)
        sys.stdin.readline()


class Beside:
    """A client that comes again and again, and how long it waits."""

    def __init__(self, address):
        self.address = address
        self.waits = []
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over:
            begin = time.monotonic()
            with Client(self.address, node_id='beside') as client:
                client.send(CLUSTER)
                client.receive()
            self.waits.append(time.monotonic() - begin)
            time.sleep(0.05)

    def longest(self):
        self.is_over = True
        self.thread.join()
        return max(self.waits)


class Crowd:
    """The node while all of them come at once with one request."""

    def __init__(self, node):
        self.node = node
        self.before = self.memory('VmRSS')

    def memory(self, field):
        with open(f'/proc/{self.node.process.pid}/status', encoding='ascii') as status:
            return int(next(line for line in status if line.startswith(field)).split()[1]) * 1024

    def forget_peak(self):
        with open(f'/proc/{self.node.process.pid}/clear_refs', 'w', encoding='ascii') as clear:
            clear.write('5')

    def come(self, file, n_missing):
        self.forget_peak()
        beside = Beside(self.node.address)
        begin = time.monotonic()
        clients = [subprocess.Popen([sys.executable, __file__, 'come-back', self.node.address, file,
                                     str(N_CLIENTS // N_PROCESSES), str(n_missing)],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                   for _ in range(N_PROCESSES)]
        try:
            self.n_served = sum(one.stdout.readline() == 'served\n' for one in clients)
            self.took = time.monotonic() - begin
            self.longest = beside.longest()
            self.after, self.peak = self.memory('VmRSS'), self.memory('VmHWM')
        finally:
            for one in clients:
                one.kill()
                one.wait()

    def show(self, size):
        print(f'{N_CLIENTS} requests of {size / 1e6:.1f} MB in {self.took:.1f} s; memory '
              f'{self.before / MIB:.0f} MiB before, {self.peak / MIB:.0f} at the peak, '
              f'{self.after / MIB:.0f} after; '
              f'{(self.after - self.before) / N_CLIENTS / N_NAMES:.0f} bytes for a name of a client; '
              f'beside them a client waited {self.longest:.2f} s at most', flush=True)


def check_crowd(test, node, asked, n_missing):
    file = test.work / 'request'
    file.write_bytes(asked.SerializeToString())
    crowd = Crowd(node)
    crowd.come(file, n_missing)
    crowd.show(file.stat().st_size)
    interop.check('all are served, and none has ended', crowd.n_served == N_PROCESSES)
    interop.check('what they have sent was never in memory all at once',
                  crowd.peak - crowd.after < MOST_UNFINISHED)
    if not interop.is_instrumented(test.build):
        interop.check('the node stays below 1 GiB', crowd.peak < MEMORY_MAX)
    interop.check('who has little to say was answered meanwhile', crowd.longest < PROMPT_S)


def start(test, name):
    bootstrap = test.work / f'{name}.yaml'
    bootstrap.write_text(
        f"sockets: [{{address: '127.0.0.1:0', max_message_bytes: {MAX_MESSAGE}}}]\n")
    return interop.Node(test, name, port=None, bootstrap=bootstrap)


def body(test):
    all_names = names()
    node = start(test, 'full')
    with Peer(test.build, node.address) as peer:
        peer.publish([('small', envoy_peer.static_cluster('small'))])
        for i in range(0, N_NAMES, N_AT_ONCE):
            peer.publish([(name, envoy_peer.assignment(name))
                          for name in all_names[i:i + N_AT_ONCE]])
        check_crowd(test, node, request(all_names, first_versions(node.address)), 0)
    node.stop()
    node = start(test, 'empty')
    with Peer(test.build, node.address) as peer:
        peer.publish([('small', envoy_peer.static_cluster('small'))])
        check_crowd(test, node, request(all_names, {}), N_NAMES)


if __name__ == '__main__':
    if sys.argv[1:2] == ['come-back']:
        come_back(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        sys.exit(0)
    sys.exit(interop.run(__doc__, body))
