#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A restart of a node whose clients take long to move: what is published, changed and removed meanwhile, what its source
changes, and what it removes, is sent to those that are still at the process before, as soon as to those that have moved."""
import signal
import sys
import time

import interop
from interop import check, wait_for

import restarts
import udpa_peer
import udpactl
from google.protobuf import any_pb2
from envoy.config.cluster.v3 import cluster_pb2
from test_envoy_drain import write
from test_envoy_restart import CLUSTER, provider

N_CLIENTS = 12
LATE_S = 5 # a machine with much else to do


def start(test):
    above_port, port = interop.free_ports(2)
    folder = test.work / 'above'
    folder.mkdir()
    (test.work / 'files').mkdir()
    descriptors = [str(udpactl.descriptors(test))]
    put(folder, 'above-0')
    put(test.work / 'files', 'file-0')
    write(test.work / 'above.json', {'static_resources': {'directories': [{'path': str(folder)}]}, 'descriptor_sets': descriptors})
    above = interop.Node(test, 'above', above_port, test.work / 'above.json')
    write(test.work / 'node.json', {
        'static_resources': {'directories': [{'path': str(test.work / 'files')}],
                             'config_sources': [{'name': 'above', 'udpa': {'address': above.address}}]},
        'providers': provider('above'), 'descriptor_sets': descriptors, 'timing': {'drain_time': '300s'},
        **({'workers': 2} if test.variant == 'workers' else {})})
    return folder, interop.Node(test, 'node', port, test.work / 'node.json')


def put(folder, *names):
    write(folder / 'clusters.json', [{'@type': CLUSTER, 'name': name, 'connect_timeout': '1s'} for name in names])


def cluster(name, text):
    packed = any_pb2.Any()
    packed.Pack(cluster_pb2.Cluster(name=name, alt_stat_name=text))
    return name, packed


def all_have(clients, what, look):
    begin_s = time.monotonic()
    wait_for(f'all have {what}', lambda: all(look(client) for client in clients), LATE_S)
    check(f'all have {what}, after {time.monotonic() - begin_s:.2f} s', True)


def play(test, node, folder, succession):
    publisher = udpa_peer.Peer(test.build, node.address)
    publisher.publish([cluster('published', 'one'), cluster('removed', 'one')])
    clients = [restarts.Client(node.address, f'client-{i}') for i in range(N_CLIENTS)]
    all_have(clients, 'all', lambda client: {'published', 'removed', 'above-0', 'file-0'} <= set(client.has))
    before = clients[0].has['published']
    succession.restart()
    publisher.close()
    with udpa_peer.Peer(test.build, node.address) as publisher:
        publisher.publish([cluster('late', 'one')])
        all_have(clients, 'what is published', lambda client: 'late' in client.has)
        publisher.publish([cluster('published', 'two')])
        all_have(clients, 'what is changed', lambda client: client.has['published'] != before)
        publisher.remove('envoy.config.cluster.v3.Cluster', ['removed'])
        all_have(clients, 'not what is removed', lambda client: 'removed' not in client.has)
        put(folder, 'above-0', 'above-1')
        all_have(clients, 'what the source has', lambda client: 'above-1' in client.has)
        put(folder, 'above-1')
        all_have(clients, 'not what it has no more', lambda client: 'above-0' not in client.has)
        put(test.work / 'files', 'file-0', 'file-1')
        all_have(clients, 'what is in the files', lambda client: 'file-1' in client.has)
        n_moved = sum(client.n_streams > 1 for client in clients)
        check(f'of {N_CLIENTS} clients {n_moved} have moved so far', n_moved < N_CLIENTS / 2)
        resent = [client.resent() for client in clients if client.resent()]
        check(f'nobody was sent anything twice: {resent[:2]}', not resent)
        with Late(node) as late:
            wait_for('one that comes has the same', lambda: late.has == clients[-1].has, LATE_S)
    for client in clients:
        client.stop()


class Late:
    """A client that comes now."""

    def __init__(self, node):
        self.client = restarts.Client(node.address, 'late')

    def __enter__(self):
        return self.client

    def __exit__(self, *_):
        self.client.stop()


def body(test):
    folder, node = start(test)
    succession = restarts.Succession(node)
    try:
        play(test, node, folder, succession)
        node.process.send_signal(signal.SIGTERM) # it need not wait for the rest
        wait_for('the process before has ended', succession.reap, 20)
        check('well', succession.statuses == [0])
        lines = [line for line in node.text().splitlines() if ' error ' in line or ' warning ' in line]
        check(f'nothing is wrong: {lines[:3]}', not lines)
    finally:
        succession.end()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, variants=('one', 'workers')))
