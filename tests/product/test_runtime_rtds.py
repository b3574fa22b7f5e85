#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers of udpad's runtime that come by RTDS: from a directory, from another node, over its restarts; bad
ones, and their end."""
import argparse
import json
import os
import re
import subprocess

from product import check, main, wait_for
from test_runtime import Node, check_config, swap, write

TYPE = 'envoy.service.runtime.v3.Runtime'
NAME = 'com.acme/edge'
WITNESS = 'com.acme/witness'


def resource(name, layer):
    return json.dumps({'name': name, 'resource': {
        '@type': f'type.googleapis.com/{TYPE}', 'name': name, 'layer': layer}})


def publish(folder, layer, name=NAME):
    """Puts the resource into a directory, in one move; None: takes it away."""
    path = folder / f'{name.split("/")[1]}.json'
    if layer is None:
        path.unlink()
        return
    new = folder.parent / f'{folder.name}.new'
    new.write_text(resource(name, layer))
    os.replace(new, path)


def follower(rtds, source=None, providers=None):
    config = {
        'runtime': {'layers': [
            {'name': 'static', 'static_layer': {'x': 'static', 'only': 'static'}},
            {'name': 'rtds', 'rtds_layer': rtds},
            {'name': 'admin', 'admin_layer': {}}]},
        'timing': {'backoff_max': '0.5s'}}
    if source:
        config['static_resources'] = {'config_sources': [source]}
    if providers:
        config['providers'] = providers
    return config


def follow_changes(node, change):
    """What is the same wherever it comes from."""
    check('the layer is there, and counts', node.runtime()['layers'] == ['static', 'rtds', 'admin'] and
          node.runtime()['entries']['x']['layer_values'] == ['static', 'one', ''], node.runtime())
    before = node.statistics()
    check('it is counted', before['runtime.num_layers'] == 3 and before['runtime.num_keys'] == 3 and
          before['runtime.load_error'] == 0, before)
    change({'x': 'two', 'share': {'numerator': 5, 'denominator': 'MILLION'}})
    wait_for('a change', lambda: node.value('x') == 'two')
    now = node.statistics()
    check('what is not there any more is not, and what is new is', node.value('tree.edge') is None and
          json.loads(node.value('share')) == {'numerator': 5, 'denominator': 'MILLION'},
          node.runtime())
    check('one load was good', now['runtime.load_success'] == before['runtime.load_success'] + 1, now)
    node.set(x='mine')
    check('a later layer counts', node.value('x') == 'mine')
    node.set(x='')

    change({'x': 'three', 'tree': {'numerator.edge': 1}})
    wait_for('the error', lambda: 'rtds' in node.runtime()['errors'])
    check('of what may not be, nothing counts, and what was before stays', node.value('x') == 'two' and
          node.runtime()['layers'] == ['static', 'rtds', 'admin'], node.runtime())
    error = node.runtime()['errors']['rtds']
    check('it is told what is wrong, and where', f"resource '{NAME}' of '" in error and
          'tree.numerator.edge' in error, error)
    check('also in the log', f'layer rtds stays as it was: {error}' in node.process.text())
    check('and counted', node.statistics()['runtime.load_error'] == 1, node.statistics())
    change({'x': 'four'})
    wait_for('the end of the error', lambda: node.value('x') == 'four')
    check('it is mended', not node.runtime()['errors'] and
          'layer rtds is fixed' in node.process.text(), node.runtime())

    change(None)
    wait_for('the removal', lambda: node.value('x') == 'static')
    check('what is removed leaves an empty layer', node.runtime()['layers'] ==
          ['static', 'rtds', 'admin'] and sorted(node.runtime()['entries']) == ['only', 'x'],
          node.runtime())
    check('as the log says', 'layer rtds is empty' in node.process.text())
    change({'x': 'five'})
    wait_for('it to come back', lambda: node.value('x') == 'five')


def test_directory(test):
    folder = test.work / 'files'
    folder.mkdir()
    node = Node(test, 'by_path', follower(
        {'name': NAME, 'rtds_config': 'files'}, {'name': 'files', 'path': {'path': str(folder)}}))
    node.process.wait_for_log('layer rtds is not there')
    check('the node does not wait for it', node.runtime()['layers'] == ['static', 'admin'] and
          node.value('x') == 'static', node.runtime())
    publish(folder, {'x': 'one', 'tree': {'edge': True}})
    wait_for('the layer', lambda: node.value('x') == 'one')
    follow_changes(node, lambda layer: publish(folder, layer))


class Upstream:
    """A node that has the resource, and may end and begin again."""

    def __init__(self, test, name):
        self.test, self.name, self.port = test, name, '0'
        self.folder = test.work / f'{name}-files'
        self.folder.mkdir()
        self.start()

    def start(self):
        self.process = self.test.start(self.name, [
            self.test.build / 'udpad', '--listen', f'127.0.0.1:{self.port}', '--node-id', self.name,
            '--state', self.test.work / f'{self.name}-data', '--resources', self.folder])
        line = self.process.wait_for_log('listening on ')
        self.port = re.search(r'listening on 127\.0\.0\.1:(\d+)', line).group(1)

    def source(self):
        return {'name': 'up', 'udpa': {'address': f'127.0.0.1:{self.port}'}}


def test_another_node(test):
    up = Upstream(test, 'up')
    publish(up.folder, {'x': 'one', 'tree': {'edge': True}})
    config = follower({'name': NAME, 'rtds_config': 'up'}, up.source())
    node = Node(test, 'by_udpa', config)
    wait_for('the layer', lambda: node.value('x') == 'one')
    follow_changes(node, lambda layer: publish(up.folder, layer))

    test.interrupt(up.process)
    check('what has come stays while its source is away', node.value('x') == 'five')
    check('the node ends as it should', test.interrupt(node.process) == 0, node.process.text())
    node = Node(test, 'by_udpa', config)
    wait_for('what was kept', lambda: node.value('x') == 'five')
    check('it stays over a restart of the node, too', True)
    publish(up.folder, {'x': 'six'})
    up.start()
    wait_for('what has changed meanwhile', lambda: node.value('x') == 'six')
    check('and follows again', True)

    by_type = Node(test, 'by_type', follower({'name': NAME}, up.source(), [
        {'types': [TYPE], 'config_descriptors': [{'resource_name': 'up', 'mode': 'ON_DEMAND'}]}]))
    wait_for('the layer by the providers', lambda: by_type.value('x') == 'six')
    check('without rtds_config it comes from where the providers have the type', True)


def test_workers(test):
    """Layers are the business of the process that has the sources."""
    up = Upstream(test, 'up_of_workers')
    publish(up.folder, {'x': 'one'})
    node = Node(test, 'with_workers', {
        **follower({'name': NAME, 'rtds_config': 'up'}, up.source()), 'workers': 2})
    wait_for('the layer', lambda: node.value('x') == 'one')
    check('also with workers', test.interrupt(node.process) == 0, node.process.text())


def test_who_dials(test):
    node = Node(test, 'dialled', follower(
        {'name': NAME, 'rtds_config': 'peer'}, {'name': 'peer', 'udpa_listen': {'peer': 'dialler'}}))
    folder, path = test.work / 'dialler-files', test.work / 'dialler.json'
    folder.mkdir()
    publish(folder, {'x': 'one'})
    path.write_text(json.dumps({'dial': [{'name': 'below', 'address': node.address}]}))
    test.start_node('dialler', '--config', path, '--resources', folder)
    wait_for('the layer', lambda: node.value('x') == 'one')
    check('also from a source that dials the node', True)


def test_nobody(test):
    """A source that is not there is not waited for."""
    node = Node(test, 'alone', follower({'name': 'edge', 'rtds_config': 'gone'}, {
        'name': 'gone', 'udpa': {'address': '127.0.0.1:1'}}))
    check('a source that cannot be reached is not waited for', node.value('x') == 'static' and
          node.runtime()['layers'] == ['static', 'admin'], node.runtime())
    node.set(x='2')
    check('and the rest goes on', node.value('x') == '2')


def udpactl(test, port, command, layer=None):
    """Calls udpactl about the resource: what it prints."""
    done = subprocess.run(
        [test.build / 'udpactl', '--server', f'127.0.0.1:{port}', command,
         *(['-f', '-'] if layer else [TYPE, NAME, '-o', 'json'])],
        input=resource(NAME, layer) if layer else None, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_one_source(test):
    """Nothing that another source says counts, but what is published here does. Of the other source
    the node has a witness: what came with it has come."""
    good, other = Upstream(test, 'good'), Upstream(test, 'other')
    publish(good.folder, {'x': 'good'})
    config = follower({'name': NAME, 'rtds_config': 'up'}, good.source(), [
        {'types': [TYPE], 'config_descriptors': [{'resource_name': 'else'}]}])
    config['static_resources']['config_sources'].append({**other.source(), 'name': 'else'})
    config['runtime']['layers'].insert(0, {'name': 'witness', 'rtds_layer': {'name': WITNESS}})
    node = Node(test, 'one_source', config)
    wait_for('the layer', lambda: node.value('x') == 'good')
    publish(other.folder, {'x': 'other'})
    wait_for('the resource at the other source', lambda: '"other"' in udpactl(test, other.port, 'get'))
    publish(other.folder, {'seen': '1'}, WITNESS)
    wait_for('the witness', lambda: node.value('seen') == '1')
    check('with rtds_config no other source counts', node.value('x') == 'good', node.runtime())
    publish(good.folder, None)
    wait_for('its end', lambda: node.value('x') == 'static')
    publish(other.folder, {'seen': '2'}, WITNESS)
    wait_for('the witness again', lambda: node.value('seen') == '2')
    check('also when its own has nothing', node.value('x') == 'static', node.runtime())
    udpactl(test, node.address.rsplit(':', 1)[1], 'apply', {'x': 'published'})
    wait_for('what was published', lambda: node.value('x') == 'published')
    check('who publishes it here stands above all sources', True)
    text = udpactl(test, node.address.rsplit(':', 1)[1], 'apply', {'x': [1]})
    check('who publishes a bad one is told', 'x is a list' in text, text)
    check('and it changes nothing', node.value('x') == 'published', node.runtime())


def test_rules(test):
    """Whoever may publish the resource decides over the layer, and nobody else."""
    up = Upstream(test, 'ruled')
    publish(up.folder, {'x': 'one'})
    config = follower({'name': NAME, 'rtds_config': 'up'}, up.source())
    rules = [{'name': 'look', 'identities': ['*'], 'actions': ['SUBSCRIBE', 'ADMIN']}]
    config['acl'] = {'rules': rules}
    node = Node(test, 'closed', config)
    node.process.wait_for_log('layer rtds is not there')
    check('a source that may not publish it has no say', node.value('x') == 'static', node.runtime())
    rules.append({'name': 'up', 'identities': ['up'], 'actions': ['PUBLISH'],
                  'namespaces': ['com.acme'], 'on_behalf_of': ['*']})
    node = Node(test, 'open', config)
    wait_for('the layer', lambda: node.value('x') == 'one')
    check('and one that may has', True)


def test_mistakes(test):
    def wrong(rtds, words):
        check_config(test, {'layers': [{'name': 'r', 'rtds_layer': rtds}]}, words)
    wrong({}, 'runtime.layers[0].rtds_layer.name: is required')
    wrong({'name': 'a', 'rtds_config': 'b'}, "there is no ConfigSource 'b'")


def test_tree(test):
    """What a node publishes of a tree, it follows itself, and so does another node."""
    srv = test.work / 'srv'
    for version in ('v1', 'v2'):
        write(srv / version / 'production/x', f'{version}\n')
    swap(srv, 'v1')
    tree = {'name': 'tree', 'runtime_tree': {'symlink_root': str(srv / 'current')}}
    by_type = [{'types': [TYPE],
                'config_descriptors': [{'resource_name': 'tree', 'namespace': 'local'}]}]
    top = Node(test, 'tree_top', follower({'name': 'local/production'}, tree, by_type))
    edge = Node(test, 'tree_edge', follower(
        {'name': 'local/production', 'rtds_config': 'top'},
        {'name': 'top', 'udpa': {'address': top.address}}))
    wait_for('the tree at both', lambda: (top.value('x'), edge.value('x')) == ('v1', 'v1'))
    swap(srv, 'v2')
    wait_for('its swap', lambda: (top.value('x'), edge.value('x')) == ('v2', 'v2'))
    (srv / 'v2/production/numerator').write_text('1')
    wait_for('a mistake in it', lambda: 'stays as it was' in top.process.text())
    check('changes nothing', (top.value('x'), edge.value('x')) == ('v2', 'v2'))


def body(test):
    test_directory(test)
    test_tree(test)
    test_another_node(test)
    test_workers(test)
    test_who_dials(test)
    test_nobody(test)
    test_one_source(test)
    test_rules(test)
    test_mistakes(test)


if __name__ == '__main__':
    raise SystemExit(main(argparse.ArgumentParser(description=__doc__), body))
