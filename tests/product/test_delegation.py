#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""X has clusters and delegates the endpoints of one of them to Y, by a file: the node below both
takes these from Y, and nothing else; says so to whoever delegates what it cannot follow; and has
them from X again when X takes it back."""
import argparse
import json
import re
import subprocess
import sys

from product import check, main, need_descriptors, wait_for

CLUSTER = 'envoy.config.cluster.v3.Cluster'
ENDPOINTS = 'envoy.config.endpoint.v3.ClusterLoadAssignment'
PROVIDER = 'udpa.config.v1.ResourceProvider'


def write(directory, name, kind, fields):
    """A resource file, in one step, as the node may read at any time."""
    directory.mkdir(exist_ok=True)
    (directory / 'new').write_text(json.dumps({
        'name': name, 'resource': {'@type': f'type.googleapis.com/{kind}', **fields}}),
        encoding='utf-8')
    path = directory / f'{name.replace("/", "-")}.{kind}.json'
    (directory / 'new').rename(path)
    return path


def write_endpoints(directory, service, port):
    address = {'socket_address': {'address': '10.0.0.1', 'port_value': port}}
    return write(directory, f'com.acme/{service}', ENDPOINTS, {
        'cluster_name': service,
        'endpoints': [{'lb_endpoints': [{'endpoint': {'address': address}}]}]})


def delegation(service, *sources):
    return {'type': ENDPOINTS, 'resource_name': f'com.acme/{service}',
            'config_descriptors': [{'resource_name': source} for source in sources]}


def delegate(directory, service, *sources):
    return write(directory, f'com.acme/{service}/{ENDPOINTS}', PROVIDER,
                 delegation(service, *sources))


def start_edge(test, x, y):
    path = test.work / 'edge.yaml'
    path.write_text(json.dumps({
        'static_resources': {'config_sources': [
            {'name': 'x', 'udpa': {'address': x}}, {'name': 'y', 'udpa': {'address': y}}]},
        'providers': [{'types': [CLUSTER, ENDPOINTS, PROVIDER],
                       'config_descriptors': [{'resource_name': 'x'}]}],
        'delegation': {'authorities': ['x', 'udpactl'], 'namespaces': ['com.acme']},
        'timing': {'interest_linger': '1s'},
    }), encoding='utf-8')
    checked = subprocess.run([test.build / 'udpad', '--check', '-c', path], capture_output=True,
                             text=True, check=False)
    check('udpad --check has nothing to say', checked.returncode == 0 and
          'warning' not in checked.stdout + checked.stderr, checked.stdout + checked.stderr)
    return test.start_node('edge', '-c', path)


class Edge:
    def __init__(self, test, address):
        self.test = test
        self.address = address

    def run(self, *words, text=None):
        return subprocess.run([self.test.build / 'udpactl', '--server', self.address, *words],
                              input=text, capture_output=True, text=True, check=False)

    def endpoints(self, service):
        """(authority, port) of what a client is given; None: there are none."""
        shown = self.run('get', 'endpoint', f'com.acme/{service}', '-o', 'yaml').stdout
        authority = re.search(r'authority: "?([^"\s]+)', shown)
        port = re.search(r'port_value: (\d+)', shown)
        return authority and port and (authority.group(1), int(port.group(1)))

    def wait_for(self, service, wanted):
        wait_for(f'{service}: {wanted}, not {self.endpoints(service)}',
                 lambda: self.endpoints(service) == wanted)


def body(test):
    need_descriptors(test)
    files = {name: test.work / name for name in ('x-resources', 'y-resources')}
    x_files, y_files = files.values()
    for service in ('a', 'b'):
        write(x_files, f'com.acme/{service}', CLUSTER,
              {'name': service, 'connect_timeout': '1s'})
        write_endpoints(x_files, service, 1)
        write_endpoints(y_files, service, 2)
    _, x = test.start_node('x', '--resources', x_files)
    _, y = test.start_node('y', '--resources', y_files)
    node, address = start_edge(test, x, y)
    edge = Edge(test, address)
    edge.wait_for('a', ('x', 1))
    watch = test.start('watch', [test.build / 'udpactl', '--server', address, 'watch', 'endpoint',
                                 '-n', 'com.acme'])

    path = delegate(x_files, 'a', 'y')
    edge.wait_for('a', ('y', 2))
    check('the endpoints that X has delegated come from Y', True)
    check('the others come from X', edge.endpoints('b') == ('x', 1), edge.endpoints('b'))
    write_endpoints(y_files, 'a', 3)
    edge.wait_for('a', ('y', 3))
    write_endpoints(x_files, 'a', 9)
    write_endpoints(y_files, 'b', 9)
    write_endpoints(x_files, 'b', 4)
    edge.wait_for('b', ('x', 4))
    check('changes count of whom they are delegated to, and of nobody else',
          edge.endpoints('a') == ('y', 3), edge.endpoints('a'))

    refused = edge.run('apply', '-f', '-', text=json.dumps({
        'name': f'com.acme/b/{ENDPOINTS}',
        'resource': {'@type': f'type.googleapis.com/{PROVIDER}', **delegation('b', 'z')}}))
    check('who delegates to a source that is not there is told so', refused.returncode != 0 and
          "the ConfigSource 'z', which this node does not have" in refused.stdout + refused.stderr,
          refused.stdout + refused.stderr)

    path.unlink()
    edge.wait_for('a', ('x', 9))
    check('taken back, they come from X', True)
    check('nothing was ever gone', not re.search(r'(?i)removed|deleted', watch.text()),
          watch.text())
    check('the node ends', test.interrupt(node) == 0, node.text())


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
