#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node has a runtime tree as a source, and another node is served by that: an Envoy behind each follows the
layers by rtds_layer, while a third Envoy reads the same tree from disk. It is swapped again and again, and
all of them have the same values; a fraction, which Envoy shows in other words, works the same. What is known
to differ (docs/design/runtime.md) is told apart."""
import json
import random
import urllib.error
import urllib.request

import interop
import envoy_peer
from runtime_trees import runtime, swap, write_layer

TREES = 200
SEED = 20261122
TYPE = 'envoy.service.runtime.v3.Runtime'
LAYERS = ('base', 'override')
XDSTP = f'xdstp://com.acme/{TYPE}/'
SHARE = 'the_share' # of requests that a route answers: all or none


def write_tree(root, chance, number, may_lack):
    for layer in LAYERS:
        if layer == 'base' or not may_lack or chance.random() >= 0.2:
            write_layer(root, root / layer, chance)
            (root / layer / f'number_of_{layer}').write_text(str(number))
    (root / 'base' / SHARE).write_text(
        f'{{"numerator": {100 * (number % 2)}, "denominator": "HUNDRED"}}\n')


def tree(srv, name, **more):
    return {'name': name, 'runtime_tree': {'symlink_root': str(srv / 'current'), **more}}


def start_node(test, name, *sources):
    """It has all that the sources have."""
    config = test.work / f'{name}.json'
    config.write_text(json.dumps({
        'node': {'id': name},
        'shim': {'default_namespace': 'local', 'namespaces': ['local', 'com.acme']},
        'providers': [{'types': [TYPE], 'config_descriptors': [
            {'resource_name': source['name'], 'continuation': 'CONTINUE'} for source in sources]}],
        'static_resources': {'config_sources': sources}}))
    return interop.Node(test, name, bootstrap=config)


def listener():
    """Answers 200 for that share of requests."""
    return {'name': 'front', 'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}},
            'filter_chains': [{'filters': [{'name': 'http', 'typed_config': {
                '@type': 'type.googleapis.com/envoy.extensions.filters.network.'
                         'http_connection_manager.v3.HttpConnectionManager',
                'stat_prefix': 'front',
                'http_filters': [{'name': 'router', 'typed_config': {
                    '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router'}}],
                'route_config': {'virtual_hosts': [{'name': 'all', 'domains': ['*'], 'routes': [
                    {'match': {'prefix': '/', 'runtime_fraction': {
                        'default_value': {'numerator': 50}, 'runtime_key': SHARE}},
                     'direct_response': {'status': 200}},
                    {'match': {'prefix': '/'}, 'direct_response': {'status': 404}}]}]}}}]}]}


def by_disk(srv):
    return lambda name: {'disk_layer': {'symlink_root': str(srv / 'current'), 'subdirectory': name}}


def by_rtds(prefix=''):
    return lambda name: {'rtds_layer': {'name': prefix + name, 'rtds_config': envoy_peer.ADS}}


class Follower:
    """An Envoy; of a port of a node, or, without one, of the disk alone."""

    def __init__(self, test, binary, name, layer, port=None):
        config = envoy_peer.bootstrap(name, envoy_peer.API_TYPES[test.variant], port or 9)
        if port is None:
            del config['dynamic_resources']
        config['static_resources']['listeners'] = [listener()]
        config['layered_runtime'] = {
            'layers': [{'name': one, **layer(one)} for one in LAYERS]}
        self.name = name
        self.envoy = envoy_peer.Envoy(test, binary, port, name, config)
        self.port = int(self.envoy.admin_address().rsplit(':', 1)[1])

    def values(self):
        """By key, what counts and what each layer has."""
        layers, entries = runtime(self.port)
        return {key: (entry['final_value'],
                      {name: value for name, value in zip(layers, entry['layer_values']) if value})
                for key, entry in entries.items()}

    def numbers(self):
        """Of which tree each layer is; None: there is none."""
        entries = runtime(self.port)[1]
        return [entries.get(f'number_of_{name}', {}).get('final_value') for name in LAYERS]

    def wait_for(self, numbers):
        interop.wait_for(f'{self.name} at trees {numbers}', lambda: self.numbers() == numbers)

    def answers(self):
        try:
            port = interop.wait_for('the listener', self.envoy.listener_ports)['front']
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/', timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


def is_fraction(text):
    return 'numerator' in text


def plain(text):
    """A fraction, in the words of its file or of an Envoy that has it as a struct."""
    digits = ''.join(c for c in text if c.isdigit())
    return (digits, [word for word in ('HUNDRED', 'TEN_THOUSAND', 'MILLION') if word in text])


def same(one, other):
    if is_fraction(one) and is_fraction(other):
        return plain(one) == plain(other)
    return one == other


def compare(number, disk, followers):
    expected = disk.values()
    for follower in followers:
        found = follower.values()
        for key in sorted(set(expected) | set(found)):
            (final, layers), (shown, shown_layers) = expected.get(key, ('-', {})), \
                found.get(key, ('-', {}))
            good = same(final, shown) and set(layers) == set(shown_layers) and all(
                same(layers[name], shown_layers[name]) for name in layers)
            if not good:
                raise interop.Failure(f'tree {number}, {key!r}: by disk {expected.get(key)}, '
                                      f'{follower.name} has {found.get(key)}')
    return len(expected)


def body(test):
    binary = interop.envoy_or_skip()
    chance = random.Random(SEED)
    srv = test.work / 'srv'
    # without deltas nobody can be told that a layer is gone
    for number in range(TREES):
        write_tree(srv / f'v{number}', chance, number, may_lack=test.variant == 'delta' and number)
    swap(srv, 'v0')
    top = start_node(test, 'top', tree(srv, 'plain'), tree(srv, 'xdstp', prefix=XDSTP),
                     tree(srv, 'full', prefix='com.acme.runtime/'))
    edge = start_node(test, 'edge', {'name': 'top', 'udpa': {'address': top.address}})
    disk = Follower(test, binary, 'disk', by_disk(srv))
    followers = [
        Follower(test, binary, 'at_top', by_rtds(), top.port),
        Follower(test, binary, 'at_edge', by_rtds(), edge.port),
        Follower(test, binary, 'by_xdstp', by_rtds(XDSTP), edge.port),
        Follower(test, binary, 'by_full_name', by_rtds('com.acme.runtime/'), edge.port)]
    keys = 0
    for number in range(TREES):
        if number:
            swap(srv, f'v{number}')
        has = [str(number) if (srv / 'current' / name).exists() else None for name in LAYERS]
        for follower in [disk, *followers]:
            follower.wait_for(has)
        keys += compare(number, disk, followers)
        if number < 4:
            answers = [follower.answers() for follower in [disk, *followers]]
            interop.check(f'tree {number}: a fraction counts: {answers}',
                          set(answers) == {200 if number % 2 else 404})
    print(f'ok: {TREES} trees, {keys} values', flush=True)
    (srv / 'current' / 'base' / 'numerator').write_text('1')
    (srv / 'current' / 'base' / 'number_of_base').write_text('unseen')
    top.wait_for_log('layer base stays as it was')
    interop.check('a layer with an error stays', followers[0].numbers() == has)
    (srv / 'current' / 'base' / 'numerator').unlink()
    for follower in followers:
        follower.wait_for(['unseen', has[1]])


if __name__ == '__main__':
    raise SystemExit(interop.run(__doc__, body, ('delta', 'sotw')))
