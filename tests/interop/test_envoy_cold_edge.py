#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settled before negative: an Envoy full of clusters that comes back to a node which knows nothing
yet keeps them all, for as long as the node's own source is away and while it returns.

Afterwards a change and a removal must arrive: the Envoy kept its clusters, it was not cut off.
"""
import json
import shutil
import sys
import threading
import time

import interop
import envoy_peer
from udpa_peer import Peer, sessions

N_CLUSTERS = 100
# Long enough for the waits of udpad that end in saying something: connect_grace and sync_timeout
# are shortened below, so that none of them lies beyond.
COLD_S = 6


def edge_bootstrap(test, core_port):
    path = test.work / 'edge.yaml'
    path.write_text(json.dumps({
        'static_resources': {'config_sources': [
            {'name': 'core', 'udpa': {'address': f'127.0.0.1:{core_port}'}}]},
        'providers': [{
            'types': ['envoy.config.cluster.v3.Cluster'],
            'config_descriptors': [{'resource_name': 'core', 'namespace': 'local'}]}],
        'timing': {'connect_grace': '1s', 'sync_timeout': '2s', 'cycle_timeout': '3s',
                   'backoff_max': '1s'},
    }), encoding='utf-8')
    return path


class Watch(threading.Thread):
    """Looks at /clusters all the time, and keeps the smallest it has seen."""

    def __init__(self, envoy):
        super().__init__(daemon=True)
        self.envoy = envoy
        self.smallest = N_CLUSTERS
        self.n_polls = 0
        self.is_over = False
        self.error = None

    def run(self):
        try:
            while not self.is_over:
                self.smallest = min(self.smallest, len(self.envoy.clusters()))
                self.n_polls += 1
        except OSError as error:
            self.error = error

    def check(self):
        if self.error:
            raise interop.Failure(f'/clusters could not be read: {self.error}')
        interop.check(f'never fewer than {N_CLUSTERS} clusters in {self.n_polls} polls of '
                      f'/clusters (smallest: {self.smallest})',
                      self.smallest == N_CLUSTERS and self.n_polls >= 50)

    def end(self):
        self.is_over = True
        self.join()
        self.check()


def n_clusters_held(test, node):
    """How many clusters the node has, by its own word."""
    with Peer(test.build, node.address, 'onlooker') as peer:
        statuses = peer.collect('udpa.status.v1.NodeStatus', 'udpa.node').values()
    return sum(held.n_resources for status in statuses for held in status.types
               if held.type_url.endswith(envoy_peer.TYPE_CLUSTER))


def has_session(test, edge):
    return any(session.peer_node_id == 'envoy' for session in sessions(test.build, edge.address))


def body(test):
    binary = interop.envoy_or_skip()
    core_port, edge_port = interop.free_ports(2)
    names = [f'cluster-{i:03}' for i in range(N_CLUSTERS)]

    core = interop.Node(test, 'core', core_port)
    with Peer(test.build, core.address) as peer:
        peer.publish((name, envoy_peer.static_cluster(name)) for name in names)
    edge = interop.Node(test, 'edge', edge_port, edge_bootstrap(test, core_port))
    envoy = envoy_peer.Envoy(test, binary, edge_port)
    envoy.wait_for_clusters(names)

    watch = Watch(envoy)
    watch.start()
    core.stop()
    edge.stop()
    shutil.rmtree(test.work / 'edge-data')
    edge = interop.Node(test, 'edge', edge_port, edge_bootstrap(test, core_port))
    interop.wait_for('Envoy on a stream of the cold node', lambda: has_session(test, edge))
    time.sleep(COLD_S)  # what must not happen has no event to wait for
    interop.check('the node is cold, and Envoy on its stream',
                  n_clusters_held(test, edge) == 0 and envoy.is_connected())
    watch.check()
    core = interop.Node(test, 'core', core_port)
    with Peer(test.build, core.address) as peer:
        peer.publish([(names[0], envoy_peer.static_cluster(names[0], '7s'))])
        envoy.wait_for_timeout(names[0], '7s')
        watch.end()
        peer.remove(envoy_peer.TYPE_CLUSTER, [names[-1]])
        envoy.wait_for_clusters(names[:-1])
    interop.check('a change and a removal arrived when the source was back', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
