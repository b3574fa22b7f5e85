#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A layer of the runtime by RTDS, from go-control-plane: a node has it from there, and serves it to a real
Envoy. Of 100 generated ones the values that count are the same at both, and so is what each layer has of
them; and both stay with the last good one, and lose what is removed. What is known to differ
(docs/design/runtime.md) is not generated."""
import base64
import json
import random
import re

import interop
import conform
import envoy_peer

from envoy.service.runtime.v3 import rtds_pb2
from google.protobuf import json_format

from runtime_trees import WORDS, ask, number_of
from test_envoy_runtime import compare

TYPE = 'type.googleapis.com/envoy.service.runtime.v3.Runtime'
LAYERS = 100
SEED = 20261123
PROTOCOLS = {'delta': 'DELTA', 'sotw': 'STATE_OF_THE_WORLD'}
ENVOYS = {'delta': 'delta', 'sotw': 'sotw', 'rest': 'delta'}
VALUES = ('five', '5', ' 5 ', '', 'true', 'TRUE', True, False, 0, 5, -4, 3.7, 1e3, 123456, 0.1, 1e-3,
          'h\u00e9', 'x' * 5000, 'one\ntwo', '[1, 2]', 'null', '# 5')


class Server(interop.Process):
    """go-control-plane, with the resource as it is told."""

    def __init__(self, test, port):
        super().__init__([conform.go_program(test), '-cache', 'snapshot', '-listen',
                          f'127.0.0.1:{0 if test.variant == "rest" else port}',
                          *(['-rest', f'127.0.0.1:{port}'] if test.variant == 'rest' else [])],
                         test.work / 'go.log', takes_orders=True)
        test.processes.append(self)
        self.orders = 0
        self.is_told = test.variant != 'rest' # its gateway has callbacks of its own

    def order(self, *words):
        self.process.stdin.write((' '.join(words) + '\n').encode())
        self.process.stdin.flush()
        self.orders += 1
        interop.wait_for('what go-control-plane answers',
                         lambda: self.text().count('\n') >= self.orders)
        return self.text().splitlines()[-1]

    def change(self, tree):
        message = rtds_pb2.Runtime(name='edge')
        json_format.ParseDict(tree, message.layer)
        self.order('set', TYPE, 'edge', '-',
                   base64.b64encode(message.SerializeToString(deterministic=True)).decode())
        self.order('commit')

    def remove(self):
        self.order('remove', TYPE, 'edge')
        self.order('commit')


def key_of(path):
    return '.'.join(path)


def make_tree(chance, number):
    """No two paths of one key, and none that is the beginning of another."""
    tree, taken = {'number': str(number)}, [('number',)]
    for _ in range(chance.randrange(0, 30)):
        path = tuple(chance.choice(WORDS) for _ in range(chance.randrange(1, 5)))
        keys = {key_of(other) for other in taken}
        if key_of(path) in keys or any(other[:len(path)] == path or path[:len(other)] == other
                                       for other in taken):
            continue
        taken.append(path)
        inner = tree
        for edge in path[:-1]:
            inner = inner.setdefault(edge, {})
        inner[path[-1]] = chance.choice(VALUES)
    return tree


def layers(rtds):
    return [
        {'name': 'static', 'static_layer': {'health_check': {'min_interval': 5}, 'only': 'static'}},
        {'name': 'rtds', 'rtds_layer': rtds},
        {'name': 'admin', 'admin_layer': {}}]


def source_of(test, port):
    """go-control-plane, as the node knows it."""
    server = {'address': f'127.0.0.1:{port}', 'authority': 'legacy'}
    if test.variant == 'rest':
        return {'name': 'legacy', 'rest': {**server, 'refresh_delay': '0.1s'}}
    return {'name': 'legacy', 'xds': {**server, 'protocol': PROTOCOLS[test.variant]}}


def start_node(test, name, source):
    config = test.work / f'{name}.json'
    config.write_text(json.dumps({
        'http': {'admin_pages': True, 'sockets': [{'address': '127.0.0.1:0'}]},
        'static_resources': {'config_sources': [source]},
        'providers': [{'types': [TYPE], 'config_descriptors': [
            {'resource_name': source['name'], 'mode': 'ON_DEMAND'}]}],
        'timing': {'backoff_max': '1s'},
        'runtime': {'layers': layers({'name': 'edge', 'rtds_config': source['name']})}}))
    node = interop.Node(test, name, bootstrap=config)
    interop.wait_for('the whole welcome', lambda: 'names without' in node.text())
    node.http = int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*REST', node.text()).group(1))
    return node


def start_envoy(test, binary, port):
    config = envoy_peer.bootstrap('envoy', envoy_peer.API_TYPES[ENVOYS[test.variant]], port)
    del config['dynamic_resources']['cds_config']
    config['layered_runtime'] = {'layers': layers({'name': 'edge', 'rtds_config': envoy_peer.ADS})}
    envoy = envoy_peer.Envoy(test, binary, port, config=config)
    envoy.http = int(envoy.admin_address().rsplit(':', 1)[1])
    return envoy


def wait_for_number(peers, number):
    for name, peer in peers.items():
        interop.wait_for(f'{name} at {number}', lambda peer=peer: number_of(peer.http) == str(number))


def errors(port):
    return json.loads(ask(port, '/runtime'))['errors']


def refuse_bad(server, envoy, nodes):
    """One that Envoy refuses, too."""
    before = [statistics(node.http) for node in nodes]
    rejected = envoy.stat('runtime.update_rejected') or 0
    server.change({'number': 'bad', 'list': [1]})
    for node in nodes:
        interop.wait_for('the error', lambda node=node: 'rtds' in errors(node.http))
    interop.wait_for('Envoy to refuse it',
                     lambda: (envoy.stat('runtime.update_rejected') or 0) > rejected)
    interop.check('a bad one is told', all('list is a list' in errors(node.http)['rtds']
                                           for node in nodes))
    if server.is_told:
        interop.wait_for('go-control-plane to be told why',
                         lambda: 'list is a list' in server.order('refused'))
    interop.check('and counted', all(
        statistics(node.http)['runtime.load_error'] == then['runtime.load_error'] + 1
        for node, then in zip(nodes, before)))


def statistics(port):
    lines = ask(port, '/stats').decode().splitlines()
    return {name: int(value) for name, value in (line.split(': ') for line in lines)}


def body(test):
    binary = interop.envoy_or_skip()
    chance = random.Random(SEED)
    port = interop.free_ports(1)[0]
    server = Server(test, port)
    node = start_node(test, 'node', source_of(test, port))
    below = start_node(test, 'below', {'name': 'up', 'udpa': {'address': node.address}})
    envoy = start_envoy(test, binary, node.port)
    peers = {'the node': node, 'the node below': below, 'Envoy': envoy}

    keys = 0
    for number in range(LAYERS):
        server.change(make_tree(chance, number))
        wait_for_number(peers, number)
        keys += compare(number, envoy.http, node.http)
        compare(number, envoy.http, below.http)
    print(f'ok: {LAYERS} layers, {keys} values', flush=True)

    refuse_bad(server, envoy, (node, below))
    for peer in (node, below):
        compare('with a bad one', envoy.http, peer.http)
    interop.check('of a bad one nothing counts, at anybody', number_of(envoy.http) == str(LAYERS - 1))
    server.change({'number': 'mended'})
    wait_for_number(peers, 'mended')
    interop.check('one that is mended does', not errors(node.http) and not errors(below.http))

    server.kill()
    server = Server(test, port)
    server.change({'number': 'anew', 'more': 1})
    wait_for_number(peers, 'anew')
    interop.check('what another go-control-plane says, too', number_of(node.http) == 'anew')
    if test.variant == 'delta': # SotW has no word for it
        server.remove()
        for name, peer in peers.items():
            interop.wait_for(f'the removal at {name}',
                             lambda peer=peer: number_of(peer.http) is None)
        compare('after the removal', envoy.http, node.http)


if __name__ == '__main__':
    raise SystemExit(interop.run(__doc__, body, ('delta', 'rest', 'sotw')))
