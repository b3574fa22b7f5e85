#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Envoy comes back to a node that was restarted: nothing that it has is sent again (delta), or nothing
under another version (SotW); what has changed or gone meanwhile is told."""
import json
import shutil
import sys

import interop
import envoy_peer
from google.protobuf import json_format
from udpa_peer import sessions

N_CLUSTERS = 20
TYPE = 'type.googleapis.com/' + envoy_peer.TYPE_CLUSTER
VERSION = 'cluster_manager.cds.version'


class Files:
    """A directory of clusters: it changes while nobody serves it."""

    def __init__(self, test):
        self.path = test.work / 'clusters'
        self.path.mkdir()
        self.bootstrap = test.work / 'node.yaml'
        self.bootstrap.write_text(json.dumps({
            'static_resources': {'directories': [{'path': str(self.path)}]}}), encoding='utf-8')

    def write(self, name, timeout='1s'):
        cluster = json_format.MessageToDict(envoy_peer.static_cluster(name, timeout))
        (self.path / f'{name}.json').write_text(json.dumps({'@type': TYPE, **cluster}),
                                                encoding='utf-8')

    def remove(self, name):
        (self.path / f'{name}.json').unlink()


class Bench:
    def __init__(self, test):
        self.test = test
        self.files = Files(test)
        [self.port] = interop.free_ports(1)
        self.node = None

    def start(self):
        self.node = interop.Node(self.test, 'node', self.port, self.files.bootstrap)

    def stop(self):
        """Its state goes, too: what a new process knows of the Envoy, the Envoy says."""
        self.node.stop()
        shutil.rmtree(self.test.work / 'node-data')

    def in_sync(self):
        """What the node says of the clusters of the Envoy; None while it has not sent them."""
        for session in sessions(self.test.build, self.node.address):
            for one in session.subscriptions if session.peer_node_id == 'envoy' else ():
                if one.type_url == TYPE and one.in_sync:
                    return one
        return None

    def come_back(self):
        self.start()
        return interop.wait_for('the Envoy in sync again', self.in_sync)


def counters(envoy):
    return envoy.stats('^cluster_manager.cluster_(added|modified|removed)$')


def body(test):
    binary = interop.envoy_or_skip()
    bench = Bench(test)
    names = [f'cluster-{i:02}' for i in range(N_CLUSTERS)]
    for name in names:
        bench.files.write(name)
    bench.start()
    envoy = envoy_peer.Envoy(test, binary, bench.port)
    envoy.wait_for_clusters(names)
    version, before = envoy.stat(VERSION), counters(envoy)

    bench.stop()
    said = bench.come_back()
    interop.check(f'{said.n_resources_sent} resources and {said.n_removals_sent} removals were sent',
                  said.n_removals_sent == 0 and
                  said.n_resources_sent == (0 if test.variant == 'delta' else N_CLUSTERS))
    interop.check('the version is the one of before', envoy.stat(VERSION) == version)
    interop.check(f'Envoy has added, changed and removed nothing: {before}',
                  counters(envoy) == before)

    bench.stop()
    bench.files.write(names[0], '7s')
    bench.files.remove(names[1])
    said = bench.come_back()
    interop.check(f'{said.n_resources_sent} resources and {said.n_removals_sent} removals were sent '
                  'when one had changed and one had gone',
                  (said.n_resources_sent, said.n_removals_sent) ==
                  ((1, 1) if test.variant == 'delta' else (N_CLUSTERS - 1, 0)))
    envoy.wait_for_timeout(names[0], '7s')
    envoy.wait_for_clusters({*names} - {names[1]})
    interop.check('Envoy has the one, and has not the other', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
