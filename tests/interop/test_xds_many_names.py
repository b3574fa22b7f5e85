#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sixty-four clients come back at once, each with 100,000 names of 100 bytes and their versions: all are
served, what they send is never in memory all at once, and a client beside them is answered."""
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


def come_back(address, file, n_clients):
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
            if client.receive().type_url != CLUSTER:
                raise interop.Failure('what has not changed was sent')
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


def body(test):
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(
        f"sockets: [{{address: '127.0.0.1:0', max_message_bytes: {MAX_MESSAGE}}}]\n")
    node = interop.Node(test, 'node', port=None, bootstrap=bootstrap)

    def memory(field):
        with open(f'/proc/{node.process.pid}/status', encoding='ascii') as status:
            return int(next(line for line in status if line.startswith(field)).split()[1]) * 1024

    all_names = names()
    with Peer(test.build, node.address) as peer:
        peer.publish([('small', envoy_peer.static_cluster('small'))])
        for i in range(0, N_NAMES, N_AT_ONCE):
            peer.publish([(name, envoy_peer.assignment(name))
                          for name in all_names[i:i + N_AT_ONCE]])
        resumed = discovery_pb2.DeltaDiscoveryRequest(
            type_url=ENDPOINTS, resource_names_subscribe=all_names,
            initial_resource_versions=first_versions(node.address))
        resumed.node.id = 'many'
        file = test.work / 'resumed'
        file.write_bytes(resumed.SerializeToString())
        before = memory('VmRSS')
        beside = Beside(node.address)
        begin = time.monotonic()
        clients = [subprocess.Popen([sys.executable, __file__, 'come-back', node.address, file,
                                     str(N_CLIENTS // N_PROCESSES)],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                   for _ in range(N_PROCESSES)]
        try:
            n_served = sum(one.stdout.readline() == 'served\n' for one in clients)
            took = time.monotonic() - begin
            longest = beside.longest()
            after, peak = memory('VmRSS'), memory('VmHWM')
        finally:
            for one in clients:
                one.kill()
                one.wait()
    print(f'{N_CLIENTS} requests of {file.stat().st_size / 1e6:.1f} MB in {took:.1f} s; memory '
          f'{before / MIB:.0f} MiB before, {peak / MIB:.0f} at the peak, {after / MIB:.0f} after; '
          f'{(after - before) / N_CLIENTS / N_NAMES:.0f} bytes for a name of a client; beside them a '
          f'client waited {longest:.2f} s at most', flush=True)
    interop.check('all are served, and none has ended', n_served == N_PROCESSES)
    interop.check('what they have sent was never in memory all at once',
                  peak - after < MOST_UNFINISHED)
    interop.check('who has little to say was answered meanwhile', longest < PROMPT_S)


if __name__ == '__main__':
    if sys.argv[1:2] == ['come-back']:
        come_back(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        sys.exit(0)
    sys.exit(interop.run(__doc__, body))
