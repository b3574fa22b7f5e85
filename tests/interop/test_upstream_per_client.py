#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node whose source computes what it says for the Node that asks: go-control-plane, with a
snapshot for each node. Two real Envoys below the node have each its own, made of what that Envoy
says of itself; a change for one is not the other's; both keep it while go-control-plane is away and
the node starts anew; and what was for one goes when it has gone. As a group, both have what is made
for one of them."""
import json
import sys

import interop
import envoy_peer
import udpactl
from go_control_plane import GoControlPlane, has_endpoints, program_or_skip

N_CLUSTERS = 3
PROTOCOLS = {'delta': 'DELTA', 'sotw': 'STATE_OF_THE_WORLD'}
TYPES = ['envoy.config.cluster.v3.Cluster', 'envoy.config.endpoint.v3.ClusterLoadAssignment']


def names():
    return [f'cluster-{i:06}' for i in range(N_CLUSTERS)]


def node_config(test, port):
    audience, protocol = test.variant.split('_')
    word = {'client': 'node_id', 'group': 'cluster'}[audience]
    asked = {'address': f'127.0.0.1:{port}', 'authority': 'legacy',
             'audience': f'PER_{audience.upper()}'}
    kind = {'rest': {**asked, 'refresh_delay': '0.2s'}} if protocol == 'rest' else \
        {'xds': {**asked, 'protocol': PROTOCOLS[protocol]}}
    path = test.work / 'node.yaml'
    path.write_text(json.dumps({
        'audiences': [{'name': 'each', 'default_namespace': f'com.acme/clients/{{{word}}}'}],
        'static_resources': {'config_sources': [{'name': 'legacy', **kind}]},
        'providers': [{'types': TYPES, 'config_descriptors': [
            {'resource_name': 'legacy', 'namespace': 'com.acme/clients'}]}],
        'timing': {'backoff_max': '1s', 'interest_linger': '2s'},
    }), encoding='utf-8')
    return path


def envoy_config(name, port):
    config = envoy_peer.bootstrap(name, 'DELTA_GRPC', port)
    config['node'].update({'locality': {'zone': 'z-1'}, 'metadata': {'ROLE': f'the {name}'}})
    return config


def says(envoy, who, serial):
    """Do all its clusters come from what was made for this node id?"""
    active = envoy.active_clusters()
    return all(active.get(name, {}).get('alt_stat_name') ==
               f'{who} of interop in z-1, the {who}: {serial}' for name in names())


def sources(ctl):
    """What the node says of its sources, quietly."""
    return ctl.start('get', 'source', '-o', 'name').communicate()[0]


def body(test):
    binary = interop.envoy_or_skip()
    program = program_or_skip(test)
    legacy_port, node_port = interop.free_ports(2)
    is_rest = test.variant.endswith('rest')
    legacy = GoControlPlane(test, program, 'nodes', legacy_port, N_CLUSTERS, is_rest)
    config = node_config(test, legacy_port)
    node = interop.Node(test, 'node', node_port, config)
    is_group = test.variant.startswith('group')
    whose = {'alpha': 'alpha', 'beta': 'alpha' if is_group else 'beta'}
    envoys = {}
    for name in ('alpha', 'beta'):
        envoys[name] = envoy_peer.Envoy(test, binary, node_port, name,
                                        envoy_config(name, node_port))
        interop.wait_for(f'what is made for {whose[name]} on {name}',
                         lambda name=name: says(envoys[name], whose[name], 0))
        interop.wait_for(f'endpoints on {name}',
                         lambda name=name: has_endpoints(envoys[name], names()))
    interop.check('each Envoy has what go-control-plane made of its own Node' if not is_group else
                  'both Envoys have what go-control-plane made of the Node of one', True)

    legacy.change(0, 0, 7)
    interop.wait_for('a change for alpha', lambda: says(envoys['alpha'], 'alpha', 7))
    if is_group:
        interop.wait_for('the same for beta', lambda: says(envoys['beta'], 'alpha', 7))
    else:
        interop.check('the other one has what it had', says(envoys['beta'], 'beta', 0))

    ctl = udpactl.Ctl(test, node)
    status = sources(ctl)
    source = f'legacy/com.acme/clients/{"interop" if is_group else "beta"}'
    interop.check(f'status shows the source of a group:\n{status}', source in status)

    legacy.end()
    node.stop()
    node = interop.Node(test, 'node', node_port, config)
    for name, envoy in envoys.items():
        interop.wait_for(f'{name} on a stream of the node that was restarted', envoy.is_connected)
    interop.check('without go-control-plane the node serves what it had',
                  says(envoys['alpha'], 'alpha', 7))
    legacy = GoControlPlane(test, program, 'nodes', legacy_port, N_CLUSTERS, is_rest)
    interop.wait_for('what is made anew for alpha', lambda: says(envoys['alpha'], 'alpha', 0) or
                     (is_group and says(envoys['alpha'], 'beta', 0)))

    if not is_group:
        envoys['beta'].process.kill()
        envoys['beta'].process.wait()
        interop.wait_for('the end of the source of who has gone',
                         lambda: source not in sources(ctl))
        interop.check('what was for it is gone', '/beta/' not in ctl('get', 'cluster'))
        interop.check('what is for the other one is there', '/alpha/' in ctl('get', 'cluster'))
    interop.check('Envoy has rejected nothing',
                  not envoys['alpha'].stat('cluster_manager.cds.update_rejected'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('client_delta', 'client_sotw', 'client_rest',
                                         'group_delta')))
