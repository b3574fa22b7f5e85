#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node that knows one source, x, is given others by resources: endpoints come from y when it is
delegated to, by whichever came first; move with it, also to a server that wants a certificate; are
there after a restart; and go when nobody says any more where y is."""
import argparse
import json
import pathlib
import re
import subprocess
import sys

from product import check, main, wait_for

CLUSTER = 'envoy.config.cluster.v3.Cluster'
ENDPOINTS = 'envoy.config.endpoint.v3.ClusterLoadAssignment'
PROVIDER = 'udpa.config.v1.ResourceProvider'
SOURCE = 'udpa.config.v1.ConfigSource'


def as_resource(name, kind, fields):
    return {'name': name, 'resource': {'@type': f'type.googleapis.com/{kind}', **fields}}


def write(directory, name, kind, fields):
    """A resource file, in one step, as the node may read at any time."""
    directory.mkdir(exist_ok=True)
    (directory / 'new').write_text(json.dumps(as_resource(name, kind, fields)), encoding='utf-8')
    (directory / 'new').rename(directory / f'{name.replace("/", "-")}.{kind}.json')


def write_endpoints(directory, service, port):
    address = {'socket_address': {'address': '10.0.0.1', 'port_value': port}}
    write(directory, f'com.acme/{service}', ENDPOINTS, {
        'cluster_name': service,
        'endpoints': [{'lb_endpoints': [{'endpoint': {'address': address}}]}]})


def source(name, address, **others):
    return as_resource(f'com.acme/{name}', SOURCE,
                       {'name': name, 'udpa': {'address': address}, **others})


def delegation(service, name):
    return as_resource(f'com.acme/{service}/{ENDPOINTS}', PROVIDER, {
        'type': ENDPOINTS, 'resource_name': f'com.acme/{service}',
        'config_descriptors': [{'resource_name': name}]})


def issue(test, name):
    """The files of a certificate of its own."""
    folder = test.work / 'certificates'
    subprocess.run([test.arguments.ca, folder, name], check=True, stdout=subprocess.DEVNULL)
    return {'certificate_file': str(folder / f'{name}.crt'),
            'private_key_file': str(folder / f'{name}.key')}, str(folder / 'ca.crt')


def start_secure(test, files):
    """A node that nobody reaches without a certificate; its address."""
    tls, ca = issue(test, 'secure')
    path = test.work / 'secure.yaml'
    path.write_text(json.dumps({
        'node': {'id': 'secure'}, 'store': {'in_memory': True},
        'sockets': [{'address': '127.0.0.1:0', 'tls': {**tls, 'client_ca_file': ca}}],
        'static_resources': {'directories': [{'path': str(files)}]}}), encoding='utf-8')
    node = test.start('secure', [test.build / 'udpad', '-c', path])
    return re.search(r'listening on (\S+)', node.wait_for_log('listening on ')).group(1)


def write_configuration(test, x):
    tls, ca = issue(test, 'edge')
    path = test.work / 'edge.yaml'
    path.write_text(json.dumps({
        'node': {'id': 'edge'},
        'static_resources': {'config_sources': [{'name': 'x', 'udpa': {'address': x}}]},
        'providers': [
            {'types': [CLUSTER, PROVIDER, SOURCE], 'config_descriptors': [{'resource_name': 'x'}]},
            {'types': [ENDPOINTS], 'config_descriptors': [
                {'resource_name': 'z'}, {'resource_name': 'x'}]}],
        'delegation': {'authorities': ['udpactl'], 'namespaces': ['com.acme']},
        'dynamic_sources': {'authorities': ['udpactl'], 'namespaces': ['com.acme'], 'max': 3,
                            'credentials': [{'name': 'mutual', 'tls': {**tls, 'ca_file': ca}}]},
        'store': {'directory': str(test.work / 'state')},
        'timing': {'interest_linger': '2s', 'fail_back_delay': '0.2s'},
    }), encoding='utf-8')
    checked = subprocess.run([test.build / 'udpad', '--check', '-c', path], capture_output=True,
                             text=True, check=False)
    check('udpad --check warns of a source that is not there', checked.returncode == 0 and
          "until a resource defines it, nothing is received from it" in checked.stdout + checked.stderr,
          checked.stdout + checked.stderr)
    return path


class Edge:
    def __init__(self, test, path):
        self.test = test
        self.path = path
        self.node = self.address = None
        self.start()

    def start(self):
        self.node, self.address = self.test.start_node('edge', '-c', self.path)

    def run(self, *words, text=None):
        return subprocess.run([self.test.build / 'udpactl', '--server', self.address, *words],
                              input=text, capture_output=True, text=True, check=False)

    def apply(self, resource):
        done = self.run('apply', '-f', '-', text=json.dumps(resource))
        return done.returncode == 0, done.stdout + done.stderr

    def endpoints(self, service):
        """(authority, port) of what a client is given; None: there are none."""
        shown = self.run('get', 'endpoint', f'com.acme/{service}', '-o', 'yaml').stdout
        authority = re.search(r'authority: "?([^"\s]+)', shown)
        port = re.search(r'port_value: (\d+)', shown)
        return authority and port and (authority.group(1), int(port.group(1)))

    def wait_for(self, service, wanted):
        wait_for(f'{service}: {wanted}, not {self.endpoints(service)}',
                 lambda: self.endpoints(service) == wanted)


def refuse(edge, resource, words):
    done, said = edge.apply(resource)
    check(f'refused: {words}', not done and words in said, said)


def body(test):
    nodes = {}
    for number, name in enumerate(('x', 'y', 'y2', 'z'), start=1):
        files = test.work / f'{name}-resources'
        for service in ('a', 'b'):
            write_endpoints(files, service, number)
        _, nodes[name] = test.start_node(name, '--resources', files)
    old, nodes['old'] = test.start_node('old', '--resources', test.work / 'x-resources',
                                        '--namespace', 'com.acme', '--http', '127.0.0.1:0')
    by_rest = re.search(r'listening on (\S+)', old.wait_for_log('over REST')).group(1)
    edge = Edge(test, write_configuration(test, nodes['x']))
    edge.wait_for('a', ('x', 1))
    check('what stands behind a source that is not there counts', True)
    watch = test.start('watch', [test.build / 'udpactl', '--server', edge.address, 'watch',
                                 'endpoint', '-n', 'com.acme'])

    check('who delegates to a source that is not there yet may', *edge.apply(delegation('a', 'y')))
    check('nothing changes by that', edge.endpoints('a') == ('x', 1), edge.endpoints('a'))
    check('a source may be applied', *edge.apply(source('y', nodes['y'])))
    edge.wait_for('a', ('y', 2))
    check('what was delegated to it comes from it', edge.endpoints('b') == ('x', 1),
          edge.endpoints('b'))
    shown = edge.run('status', 'sources').stdout
    check('status shows it', re.search(r'\by\s+udpa, delivered\s+127\.0\.0\.1:\d+\s+active', shown),
          shown)

    refuse(edge, source('w', 'w.example.com:1'), 'beyond loopback, and without a credential')
    refuse(edge, source('w', 'w.example.com:1', credential='lost'), 'does not have')
    refuse(edge, source('w', edge.address), 'is this node itself')
    refuse(edge, source('x', nodes['y']), "this node's configuration has a ConfigSource 'x'")
    refuse(edge, as_resource('com.acme/w', SOURCE, {
        'name': 'w', 'udpa': {'address': nodes['y'], 'tls': {'ca_file': 'ca'}}}),
        'may name no files')
    refuse(edge, as_resource('org.other/w', SOURCE, {
        'name': 'w', 'udpa': {'address': nodes['y']}}), 'dynamic_sources.namespaces')

    check('it may move', *edge.apply(source('y', nodes['y2'])))
    edge.wait_for('a', ('y2', 3))
    check('what is delegated to it moves with it', True)
    address = start_secure(test, test.work / 'z-resources')
    check('it may move to where a certificate is wanted',
          *edge.apply(source('y', address, credential='mutual')))
    edge.wait_for('a', ('secure', 4))
    check('it is reached with the credential', True)
    issue(test, 'edge')
    edge.node.wait_for_log('credential mutual')
    check('another certificate of the credential is taken over', edge.endpoints('a'))
    check('it may move back', *edge.apply(source('y', nodes['y2'])))
    edge.wait_for('a', ('y2', 3))
    check('a source that a provider names may come', *edge.apply(source('z', nodes['z'])))
    edge.wait_for('b', ('z', 4))
    check('it stands before the other one', True)
    check('nothing was ever gone', not re.search(r'(?i)removed|deleted', watch.text()),
          watch.text())

    check('the node ends', test.interrupt(edge.node) == 0, edge.node.text())
    edge.start()
    check('after a restart it has what it had',
          (edge.endpoints('a'), edge.endpoints('b')) == (('y2', 3), ('z', 4)),
          (edge.endpoints('a'), edge.endpoints('b')))
    wait_for('both sources are active again',
             lambda: len(re.findall(r'delivered\s+\S+\s+active',
                                    edge.run('status', 'sources').stdout)) == 2)
    check('y may become one that speaks xDS', *edge.apply(as_resource('com.acme/y', SOURCE, {
        'name': 'y', 'xds': {'address': nodes['old'], 'authority': 'legacy',
                             'namespace': 'com.acme'}})))
    edge.wait_for('a', ('legacy', 1))
    check('what it has counts in the name of its authority', True)

    check('y may become one that is polled', *edge.apply(as_resource('com.acme/y', SOURCE, {
        'name': 'y', 'rest': {'address': by_rest, 'authority': 'polled', 'namespace': 'com.acme',
                              'refresh_delay': '0.2s'}})))
    edge.wait_for('a', ('polled', 1))
    check('what it has counts, too', True)
    refuse(edge, as_resource('com.acme/y', SOURCE, {
        'name': 'y', 'rest': {'address': by_rest, 'authority': 'polled', 'refresh_delay': '0.01s'}}),
        'between 0.1 s and 1 h')
    check('a refused version changes nothing', edge.endpoints('a') == ('polled', 1),
          edge.endpoints('a'))

    removed = edge.run('delete', SOURCE, 'com.acme/y', 'com.acme/z')
    check('sources may be deleted', removed.returncode == 0, removed.stdout + removed.stderr)
    edge.wait_for('b', ('x', 1))
    check('who stands in counts', True)
    edge.wait_for('a', None)
    check('what nobody stands in for goes', True)
    check('the node ends again', test.interrupt(edge.node) == 0, edge.node.text())


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--ca', type=pathlib.Path, required=True)
    sys.exit(main(PARSER, body))
