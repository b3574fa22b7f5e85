#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Envoy and a node read the same runtime tree, which is swapped for another 200 times: the values
that count are the same, and so is what each layer has of them. Some layers have more files than one thread
reads. What is known to differ (docs/design/runtime.md) is not generated."""
import json
import random
import re

import interop
import envoy_peer
from runtime_trees import ask, number_of, runtime, swap, write_layer

TREES = 200
SEED = 20261122
LAYERS = ('base', 'override')


def write_tree(root, chance, number):
    for layer in LAYERS:
        folder = root / layer / ('mine' if layer == 'override' else '')
        if layer == 'override' and chance.random() < 0.2:
            continue # there need be none
        write_layer(root, folder, chance, 3000 if number % 20 == 0 else 30)
    (root / 'base' / 'number').write_text(str(number))


def layers(srv):
    current = str(srv / 'current')
    return [
        {'name': 'static', 'static_layer': {'health_check': {'min_interval': 5}, 'only': 'static'}},
        {'name': 'base', 'disk_layer': {'symlink_root': current, 'subdirectory': 'base'}},
        {'name': 'override', 'disk_layer': {'symlink_root': current, 'subdirectory': 'override',
                                            'append_service_cluster': True}},
        {'name': 'admin', 'admin_layer': {}}]


def compare(number, envoy, node):
    (envoy_layers, envoy_entries), (node_layers, node_entries) = runtime(envoy), runtime(node)
    if envoy_layers != node_layers:
        raise interop.Failure(f'tree {number}: layers {envoy_layers} and {node_layers}')
    for key in sorted(set(envoy_entries) | set(node_entries)):
        if envoy_entries.get(key) != node_entries.get(key):
            raise interop.Failure(f'tree {number}, {key!r}: Envoy has {envoy_entries.get(key)}, the '
                                  f'node has {node_entries.get(key)}')
    return len(node_entries)


def start(test, binary, srv):
    config = test.work / 'node.json'
    config.write_text(json.dumps({
        'node': {'id': 'node', 'cluster': 'mine'},
        'http': {'admin_pages': True, 'sockets': [{'address': '127.0.0.1:0'}]},
        'runtime': {'layers': layers(srv)}}))
    node = interop.Node(test, 'node', bootstrap=config)
    interop.wait_for('the whole welcome', lambda: 'names without' in node.text())
    port = int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*REST', node.text()).group(1))
    envoy = envoy_peer.Envoy(test, binary, node.port, config={
        'node': {'id': 'envoy', 'cluster': 'mine'},
        'admin': {'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}}},
        'layered_runtime': {'layers': layers(srv)}})
    return envoy, port


def body(test):
    binary = interop.envoy_or_skip()
    chance = random.Random(SEED)
    srv = test.work / 'srv'
    for number in range(TREES):
        write_tree(srv / f'v{number}', chance, number)
    swap(srv, 'v0')
    envoy, node = start(test, binary, srv)
    admin = int(envoy.admin_address().rsplit(':', 1)[1])
    keys = 0
    for number in range(TREES):
        if number:
            swap(srv, f'v{number}')
        for name, port in (('Envoy', admin), ('the node', node)):
            interop.wait_for(f'{name} at tree {number}',
                             lambda port=port: number_of(port) == str(number))
        keys += compare(number, admin, node)
    print(f'ok: {TREES} trees, {keys} values', flush=True)
    for port in (admin, node):
        ask(port, '/runtime_modify?health_check.min_interval=77&new.key=a%20b', 'POST')
    compare('with what an administrator has set', admin, node)
    interop.check('which counts', runtime(node)[1]['new.key']['final_value'] == 'a b')


if __name__ == '__main__':
    raise SystemExit(interop.run(__doc__, body))
