#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A directory that one replica reads for all: its files are served by each, with the same versions; when
it is killed, the next one writes what its own files differ in, and no client loses anything."""
import json
import signal
import sys
import threading
import time

from interop import check, never, run, wait_for

import grpc
from etcd import Cluster, program_or_skip
from store_node import StoreNode
from xds_peer import CLUSTER, Client

WAIT_S = 3
LEASE_S = 25 # of a place, which ends up to 10 s after its replica, and time to read etcd again
MANY = 400   # more than a transaction of etcd has
NAMES = [f'n{i}' for i in range(MANY)] + ['one', 'two']


class Replica(StoreNode):
    def __init__(self, test, cluster, name):
        super().__init__(test, cluster, name)
        (self.home / 'files').mkdir()
        self.check_out('1')
        self.start()

    def start(self, replicas='SHARED'):
        self.write('/udpa/shared', static_resources={
            'directories': [{'path': 'files', 'replicas': replicas}]})
        super().start()

    def check_out(self, version, names=('one', 'two')):
        """The file appears at once, as a tool does it that distributes files."""
        new = self.home / 'new'
        new.write_text(json.dumps([{'name': f'local/{name}', 'resource': {
            '@type': CLUSTER, 'name': name, 'alt_stat_name': f'v{version}'}} for name in names]),
            encoding='utf-8')
        new.rename(self.home / 'files' / 'all.json')

    def served(self):
        """What a client receives that connects now: values and versions by name."""
        with Client(self.address, timeout_s=WAIT_S) as client:
            client.send(CLUSTER)
            response = client.receive()
            return {one.name: (version_of(one.resource.value), one.version) for one in response.resources}

    def serves(self, version, n=2):
        served = self.served()
        return len(served) == n and all(one[0] == version for one in served.values())


def version_of(value):
    return next((version for version in '123456789' if f'v{version}'.encode() in value), None)


class Loyal:
    """A client that stays at one replica, and notes what it receives."""

    def __init__(self, replica):
        self.client = Client(replica.address, node_id=f'loyal-{replica.name}')
        self.values, self.removed = [], []
        self.client.send(CLUSTER)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                self.client.answer(response)
                self.values += [version_of(one.resource.value) for one in response.resources]
                self.removed += response.removed_resources
        except grpc.RpcError:
            pass


def wait_all(replicas, version, patience_s=10, n=2):
    for one in replicas:
        wait_for(f'{one.name} that serves {version}', lambda one=one: one.serves(version, n), patience_s)
    versions = [one.served() for one in replicas]
    check(f'{len(replicas)} replicas serve {version} with the same versions',
          all(one == versions[0] for one in versions))


def change_to(replicas, what, version, n):
    """One after the other; the others have clients meanwhile."""
    for one in replicas:
        clients = [Loyal(other) for other in replicas if other is not one]
        wait_for('clients that are served', lambda clients=clients: all(len(c.values) == n for c in clients), 10)
        one.stop()
        one.start(what)
        one.wait_for_log('listening on ')
        wait_for(f'{one.name} that serves {version}', lambda one=one: one.serves(version, n), 10)
        check(f'{one.name} is {what}, and no client of the others has received anything since',
              all(len(c.values) == n and not c.removed for c in clients))


def records(cluster):
    keys = cluster.ctl('get', '--prefix', '--keys-only', '/udpa/shared/c/').split()
    return [key for key in keys if 'path:' in key]


def switch(cluster, replicas):
    """From SHARED to LOCAL, and back."""
    n = MANY + 2
    check(f'{len(records(cluster))} records', len(records(cluster)) == n + 1)
    change_to(replicas, 'LOCAL', '5', n)
    wait_for('etcd without the records', lambda: not records(cluster), 30)
    wait_all(replicas, '5', 10, n)
    for one in replicas:
        one.check_out('6', NAMES)
    wait_all(replicas, '6', 10, n)
    change_to(replicas, 'SHARED', '6', n)
    wait_for('all records', lambda: len(records(cluster)) == n + 1, 30)
    for one in replicas:
        one.check_out('7', NAMES)
    wait_all(replicas, '7', 10, n)


def body(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    a = Replica(test, cluster, 'a')
    a.wait_for_log('this replica is the elected one, and writes what it reads for all')
    b, c = Replica(test, cluster, 'b'), Replica(test, cluster, 'c')
    for one in (b, c):
        one.wait_for_log('listening on ')
    wait_all((a, b, c), '1')
    clients = [Loyal(one) for one in (b, c)]
    for one in (b, c):
        one.check_out('2')
    never('anything of those that are not elected',
          lambda: any(not one.serves('1') for one in (a, b, c)), 2)
    a.check_out('3')
    wait_all((a, b, c), '3')
    a.check_out('4', NAMES)
    wait_all((a, b, c), '4', 20, MANY + 2)
    a.check_out('4')
    never('less, where more than max_withdrawal is missing', lambda: not b.serves('4', MANY + 2), 2)
    for one in (b, c):
        one.check_out('5', NAMES)
    before = [len(one.values) for one in clients]
    a.process.send_signal(signal.SIGKILL)
    begin = time.monotonic()
    wait_all((b, c), '5', LEASE_S, MANY + 2)
    print(f'  {time.monotonic() - begin:.1f} s after the elected one was killed')
    for one, client in zip((b, c), clients):
        check(f'no client of {one.name} has lost anything', not client.removed)
        check(f'  or received anything else: {set(client.values[before[clients.index(client)]:])}',
              set(client.values[before[clients.index(client)]:]) == {'5'})
    a.check_out('5', NAMES)
    a.start()
    a.wait_for_log('listening on ')
    wait_all((a, b, c), '5', 10, MANY + 2)
    before = [len(one.values) for one in clients]
    never('another version, or the same once more',
          lambda: not a.serves('5', MANY + 2) or before != [len(one.values) for one in clients], 2)
    check('nobody has lost anything', not any(client.removed for client in clients))
    switch(cluster, (a, b, c))


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
