#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two groups of Envoys, each with a configuration of its own; a third one belongs to none."""
import json
import sys

import interop
import envoy_peer
from udpa_peer import Peer, sessions

BOOTSTRAP = {'audiences': [
    {'name': 'shops', 'match': {'node_ids': ['shop-*']}, 'default_namespace': 'shop.acme'},
    {'name': 'banks', 'match': {'node_ids': ['bank'], 'clusters': ['interop']},
     'default_namespace': 'bank.acme'},
]}
REFUSED = 'which belongs to no audience'


def body(test):
    binary = interop.envoy_or_skip()
    config = test.work / 'node.yaml'
    config.write_text(json.dumps(BOOTSTRAP), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    for namespace, cluster in (('shop.acme', 'tills'), ('bank.acme', 'vaults')):
        with Peer(test.build, node.address, namespace=namespace) as peer:
            peer.publish([(cluster, envoy_peer.static_cluster(cluster))])
    shop = envoy_peer.Envoy(test, binary, node.port, name='shop-1')
    bank = envoy_peer.Envoy(test, binary, node.port, name='bank')
    shop.wait_for_clusters(['tills'])
    bank.wait_for_clusters(['vaults'])
    interop.check('each group has its own clusters, under plain names', True)
    audiences = {one.peer_node_id: one.audience for one in sessions(test.build, node.address)
                 if one.protocol.startswith('xds-')}
    interop.check(f'the status says which is whose: {audiences}',
                  audiences == {'shop-1': 'shops', 'bank': 'banks'})
    stranger = envoy_peer.Envoy(test, binary, node.port, name='stranger')
    line = node.wait_for_log(REFUSED)
    interop.check(f'the log tells of the third: {line.strip()}', "'stranger'" in line)
    interop.check('which has nothing', not stranger.clusters())


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
