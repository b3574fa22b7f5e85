#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node whose source is go-control-plane: a real Envoy below it has all clusters with their
endpoints, and their changes; keeps them while go-control-plane is away and while the node starts
anew; and what go-control-plane has no more when it is back, goes.

Endpoints have no wildcard there: the node asks for them as the clusters name them."""
import json
import subprocess
import sys

import interop
import envoy_peer
from go_control_plane import GoControlPlane, has_endpoints, program_or_skip

N_CLUSTERS = 40
N_LATER = 35
PROTOCOLS = {'delta': 'DELTA', 'sotw': 'STATE_OF_THE_WORLD'}
TYPES = ['envoy.config.cluster.v3.Cluster', 'envoy.config.endpoint.v3.ClusterLoadAssignment']


def names(n):
    return [f'cluster-{i:06}' for i in range(n)]


def bootstrap(test, port):
    protocol = PROTOCOLS[test.variant.rsplit('_', 1)[1]]
    path = test.work / 'node.yaml'
    path.write_text(json.dumps({
        'static_resources': {'config_sources': [{'name': 'legacy', 'xds': {
            'address': f'127.0.0.1:{port}', 'authority': 'legacy', 'protocol': protocol}}]},
        'providers': [{'types': TYPES, 'config_descriptors': [{'resource_name': 'legacy'}]}],
        'timing': {'backoff_max': '1s'},
    }), encoding='utf-8')
    return path


def body(test):
    binary = interop.envoy_or_skip()
    program = program_or_skip(test)
    cache = test.variant.split('_')[0]
    legacy_port, node_port = interop.free_ports(2)
    legacy = GoControlPlane(test, program, cache, legacy_port, N_CLUSTERS)
    config = bootstrap(test, legacy_port)
    node = interop.Node(test, 'node', node_port, config)
    envoy = envoy_peer.Envoy(test, binary, node_port, config=envoy_peer.bootstrap(
        'envoy', 'DELTA_GRPC', node_port))
    envoy.wait_for_clusters(names(N_CLUSTERS))
    interop.wait_for('endpoints of all clusters', lambda: has_endpoints(envoy, names(N_CLUSTERS)))
    interop.check(f'{N_CLUSTERS} clusters and their endpoints came through the node', True)

    protocol = ['--state-of-the-world'] if test.variant.endswith('sotw') else []
    for kind in ('cluster', 'endpoint'):
        out = subprocess.run([test.build / 'udpactl', '--server', f'127.0.0.1:{legacy_port}', 'xds',
                              'get', kind, '-o', 'name', *protocol],
                             capture_output=True, text=True, check=True).stdout
        interop.check(f'udpactl gets each {kind} from go-control-plane itself',
                      sorted(line.rsplit('/', 1)[1] for line in out.split()) == names(N_CLUSTERS))

    legacy.change(0, 3, 7)
    interop.wait_for('a changed cluster', lambda: envoy.active_clusters().get(
        names(4)[3], {}).get('alt_stat_name') == 'serial-0000000007')
    legacy.change(1, 5, 8)
    interop.wait_for('changed endpoints', lambda: 'serial-0000000008' in
                     envoy.admin('/config_dump?include_eds'))
    interop.check('changes of a cluster and of endpoints came through', True)

    legacy.end()
    node.stop()
    node = interop.Node(test, 'node', node_port, config)
    interop.wait_for('Envoy on a stream of the node that was restarted', envoy.is_connected)
    interop.check('without go-control-plane the node serves what it had',
                  envoy.clusters() == set(names(N_CLUSTERS)))

    legacy = GoControlPlane(test, program, cache, legacy_port, N_LATER)
    envoy.wait_for_clusters(names(N_LATER))
    interop.wait_for('endpoints of what is left', lambda: has_endpoints(envoy, names(N_LATER)))
    interop.check('what go-control-plane has no more is gone, and no more than that', True)
    interop.check('Envoy has rejected nothing',
                  not envoy.stat('cluster_manager.cds.update_rejected'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('linear_delta', 'linear_sotw', 'snapshot_delta',
                                         'snapshot_sotw')))
