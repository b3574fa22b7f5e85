#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The store of a node moves to etcd, and back, while a client is served and a publisher publishes:
nothing is lost or sent again, and all has the version that it had."""
import json
import sys
import threading
import time

from interop import check, never, run, wait_for

import udpactl
from etcd import Cluster, program_or_skip
from store_node import StoreNode
from xds_peer import CLUSTER, PREFIX, Client

SECRET = PREFIX + 'envoy.extensions.transport_sockets.tls.v3.Secret'
PREFIX_KEY = '/udpa/moved'
N = 40


class Node(StoreNode):
    def start(self, engine):
        self.write(PREFIX_KEY if engine == 'ETCD' else None,
                   {'keys': [{'file': str(self.test.work / 'store.key')}]})
        super().start()

    def held(self):
        """Name, version and generation of all that it has."""
        return {(one['name'], one['version'], one['originInfo']['generation'])
                for kind in ('cluster', 'secret')
                for one in json.loads(self.take('get', kind, '-o', 'json'))}

    def state(self):
        return next((line.split()[1].rstrip(',') for line in self.ctl('store', 'status')[1].splitlines()
                     if line.startswith('state: ')), None)


class Publisher(threading.Thread):
    """Publishes ever new clusters, and knows which have a receipt."""

    def __init__(self, test, node):
        super().__init__(daemon=True)
        self.test, self.node, self.ended = test, node, threading.Event()
        self.taken, self.n_rejected = [], 0
        self.start()

    def run(self):
        n = 0
        while not self.ended.is_set():
            name = f'busy-{n}'
            path = udpactl.write_cluster(self.test, f'{name}.json', name)
            if self.node.ctl('apply', '-f', path)[0]:
                self.n_rejected += 1
                time.sleep(0.2)
            else:
                self.taken.append(f'local/{name}')
                n += 1

    def end(self):
        self.ended.set()
        self.join()


class Subscriber:
    """A client that connects again, with the versions it has, and counts what it is sent."""

    def __init__(self, node):
        self.node, self.versions, self.n_sent, self.n_removed = node, {}, 0, 0

    def look(self):
        with Client(self.node.address, timeout_s=5) as client:
            client.send(CLUSTER, initial_resource_versions=self.versions)
            response = client.receive()
            for one in response.resources if response else ():
                self.n_sent += 1
                self.versions[one.name] = one.version
            for name in response.removed_resources if response else ():
                self.n_removed += 1
                self.versions.pop(name, None)
        return response is not None


def write_all(test, node):
    words = []
    for n in range(N):
        words += ['-f', udpactl.write_cluster(test, f'c{n}.json', f'c{n}')]
    node.take('apply', *words)
    node.take('delete', 'cluster', 'c0')
    path = test.work / 'password.yaml'
    path.write_text(json.dumps({'name': 'local/password', 'resource': {
        '@type': SECRET, 'name': 'password',
        'generic_secret': {'secret': {'inline_string': 'correct-horse'}}}}), encoding='utf-8')
    node.take('apply', '-f', path)


def check_refused(node, engine, part):
    node.start(engine)
    node.wait_for_log(part)
    wait_for('its end', lambda: node.process.poll() is not None, 10)
    node.test.processes.remove(node)


def check_to_etcd(test, node):
    before = node.held()
    client = Subscriber(node)
    client.look()
    check(f'a client has {client.n_sent} clusters', client.n_sent == N - 1)
    node.end()
    check_refused(node, 'ETCD', 'has the store of a node without replicas')
    node.start('SQLITE')
    node.wait_for_log('listening on ')
    text = node.take('store', 'migrate')
    check(f'udpactl says what to do: {text.splitlines()[0]}', 'store.engine ETCD' in text)
    publisher = Publisher(test, node)
    wait_for('some publications', lambda: len(publisher.taken) > 3, 20)
    node.end()
    begin = time.monotonic()
    node.start('ETCD')
    node.wait_for_log('the store in ')
    node.wait_for_log('listening on ')
    check('it serves while it moves', client.look())
    wait_for('the move', lambda: node.state() == 'current', 30)
    print(f'moved after {time.monotonic() - begin:.1f} s')
    n_taken = len(publisher.taken)
    wait_for('more publications', lambda: len(publisher.taken) > n_taken + 3, 20)
    publisher.end()
    after = node.held()
    check(f'all has its version and generation: {len(before)}', before <= after)
    names = {name for name, _, _ in after}
    check(f'{len(publisher.taken)} publications with a receipt are there',
          set(publisher.taken) <= names and 'local/c0' not in names)
    client.look()
    check('the client received what is new, once, and no removal',
          client.n_removed == 0 and client.n_sent == N - 1 + len(publisher.taken))
    other = Node(test, node.cluster, 'other')
    other.start('ETCD')
    other.wait_for_log('listening on ')
    wait_for('another replica with the same', lambda: other.held() == after, 20)
    other.end()
    node.end()
    node.start('ETCD')
    node.wait_for_log('listening on ')
    wait_for('the same after a restart', lambda: node.state() == 'current' and node.held() == after, 20)
    check('the move is over', not (node.directory / 'migrate').exists())
    return client, after


def check_back(node, client, before):
    node.end()
    check_refused(node, 'SQLITE', 'is the copy of a replica set')
    node.start('ETCD')
    node.wait_for_log('listening on ')
    check('udpactl says what to do', 'store.engine SQLITE' in node.take('store', 'migrate'))
    node.end()
    node.start('SQLITE')
    node.wait_for_log('listening on ')
    check('all has its version and generation', node.held() == before)
    n_sent = client.n_sent
    client.look()
    check('the client received nothing', (client.n_sent, client.n_removed) == (n_sent, 0))
    node.take('delete', 'cluster', 'c1')
    node.end()
    node.start('SQLITE')
    node.wait_for_log('listening on ')
    check('it goes on by itself', len(node.held()) == len(before) - 1)


def check_again(node):
    """What etcd has of before is older than what this node has, and of another set."""
    node.take('store', 'migrate')
    before = node.held()
    node.end()
    node.start('ETCD')
    node.wait_for_log('listening on ')
    wait_for('that it does not write to what another set has',
             lambda: 'another replica set' in node.ctl('store', 'status')[1], 20)
    never('another state', lambda: node.state() != 'held', 2)
    check('it serves what it has', node.held() == before)
    node.cluster.ctl('del', '--prefix', f'{PREFIX_KEY}/')
    wait_for('the move, when nothing else is there', lambda: node.state() == 'current', 30)
    check('all is as before', node.held() == before)


def body(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    key = test.work / 'store.key'
    key.write_text('5a' * 32 + '\n', encoding='ascii')
    key.chmod(0o600)
    node = Node(test, cluster, 'node')
    node.start('SQLITE')
    node.wait_for_log('listening on ')
    write_all(test, node)
    client, held = check_to_etcd(test, node)
    check_back(node, client, held)
    check_again(node)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
