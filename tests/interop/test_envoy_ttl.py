#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a directory has with a ttl stays as long as the Envoy has its server, and ends when it loses
that: in the state of the world; and in delta behind a second node, for which it is a lease."""
import sys
import time

import interop
import envoy_peer
from google.protobuf import json_format
from interop import wait_for

TTL_S = 2
STEADY_S = 3 * TTL_S
PATIENCE_S = TTL_S + 3
EDGE = '''
static_resources:
  config_sources:
  - name: root
    udpa: {address: "%s"}
providers:
- types: [envoy.config.cluster.v3.Cluster]
  config_descriptors:
  - {resource_name: root, namespace: local}
'''


def write_directory(test):
    folder = test.work / 'resources'
    folder.mkdir()
    plain = json_format.MessageToJson(envoy_peer.static_cluster('plain'))
    leased = json_format.MessageToJson(envoy_peer.static_cluster('leased'))
    kind = f'"@type": "type.googleapis.com/{envoy_peer.TYPE_CLUSTER}"'
    (folder / 'plain.json').write_text('{' + kind + ',' + plain[1:], encoding='utf-8')
    (folder / 'leased.json').write_text(
        f'{{"name": "local/leased", "ttl": "{TTL_S}s", "resource": {{{kind}, {leased[1:]}}}',
        encoding='utf-8')
    bootstrap = test.work / 'root.yaml'
    bootstrap.write_text(f'static_resources:\n  directories: [{{path: {folder}}}]\n',
                         encoding='utf-8')
    return bootstrap


def envoy_config(test, port):
    """In the state of the world a client must say that it takes what is wrapped, and knows ttls."""
    config = envoy_peer.bootstrap('envoy', envoy_peer.API_TYPES[test.variant], port)
    config['node']['client_features'] = ['xds.config.resource-in-sotw',
                                         'xds.config.supports-resource-ttl']
    return config


def body(test):
    binary = interop.envoy_or_skip()
    root = server = interop.Node(test, 'root', bootstrap=write_directory(test))
    if test.variant == 'delta':
        bootstrap = test.work / 'edge.yaml'
        bootstrap.write_text(EDGE % root.address, encoding='utf-8')
        server = interop.Node(test, 'edge', bootstrap=bootstrap)
    envoy = envoy_peer.Envoy(test, binary, server.port,
                             config=envoy_config(test, server.port))
    envoy.wait_for_clusters(['plain', 'leased'])
    end = time.monotonic() + STEADY_S
    while time.monotonic() < end:
        if envoy.clusters() != {'plain', 'leased'}:
            raise interop.Failure(f'the clusters are {envoy.clusters()}')
        time.sleep(0.1)
    interop.check(f'both clusters stay for {STEADY_S} s',
                  envoy.stat('cluster_manager.cluster_removed') in (0, None))
    interop.check('and the cluster is not taken in again',
                  envoy.stat('cluster_manager.cluster_modified') in (0, None))
    begin = time.monotonic()
    root.kill()
    wait_for('the end of the cluster with a ttl', lambda: envoy.clusters() == {'plain'})
    took = time.monotonic() - begin
    interop.check(f'it ends {took:.1f} s after its server', took < PATIENCE_S)
    interop.check('the other one stays',
                  envoy.stat('cluster_manager.cluster_removed') == 1)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('sotw', 'delta')))
