#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a relay has read itself stays with those who had it when the relay dies, until somebody deletes it;
and is there again when the relay is. What was said to be gone goes beside a dead source, whoever asks."""
import argparse
import subprocess
import sys

from product import check, main, wait_for
from test_runtime import Node
from test_wipe import Root, names, publish, run

STRING = 'type.googleapis.com/google.protobuf.StringValue'
CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'


def file_of(directory, name):
    directory.mkdir(exist_ok=True)
    (directory / f'{name}.yaml').write_text(
        f'name: com.acme/{name}\nresource: {{"@type": {STRING}, value: {name}}}\n')


def taking(test, name, *addresses, workers=0):
    """A node that takes from all of these."""
    sources = [{'name': f's{i}', 'udpa': {'address': address}}
               for i, address in enumerate(addresses)]
    return Node(test, name, {
        'static_resources': {'config_sources': sources},
        'providers': [{'types': ['google.protobuf.StringValue'], 'config_descriptors': [
            {'resource_name': source['name'], 'continuation': 'CONTINUE'} for source in sources]}],
        'timing': {'backoff_max': '0.5s'}, **({'workers': workers} if workers else {})})


class Relay(Root):
    """It reads a directory that only it has."""

    def config(self):
        directory = self.test.work / f'{self.name}-files'
        file_of(directory, 'x')
        file_of(directory, 'y')
        return ('static_resources: {config_sources: [{name: files, '
                f'path: {{path: {directory}, authority: acme}}}}]}}\n'
                'providers: [{types: [google.protobuf.StringValue], config_descriptors: '
                '[{resource_name: files}]}]\n')


def test_origin(test, workers):
    mark = f'{workers}'
    relay = Relay(test, f'dead{mark}', workers)
    other = Root(test, f'other{mark}', 0)
    publish(test, other.address, 'kept')
    one = taking(test, f'one{mark}', relay.address, other.address, workers=workers)
    two = taking(test, f'two{mark}', relay.address, one.address)
    edge = taking(test, f'edge{mark}', one.address, two.address)
    nodes = (one, two, edge)
    for node in nodes:
        wait_for('all have all', lambda node=node: names(test, node.address) == {'x', 'y', 'kept'})
    delete = ('--http', f'127.0.0.1:{one.port}', 'delete', '--origin', relay.name)
    said = run(test, *delete, status=1)
    check('it is there', f"'{relay.name}' is connected" in said, said)
    check('the relay ends', test.interrupt(relay.process) == 0)
    wait_for('that is seen', lambda: 'would be deleted' in subprocess.run(
        [str(part) for part in (test.build / 'udpactl', *delete, '--dry-run')],
        capture_output=True, text=True, check=False).stdout)
    for node in nodes:
        check('what it had read stays', names(test, node.address) == {'x', 'y', 'kept'})
    said = run(test, *delete, '--dry-run')
    check('it is shown', said == 'google.protobuf.StringValue com.acme/x would be deleted\n'
          'google.protobuf.StringValue com.acme/y would be deleted\n', said)
    said = run(test, *delete, 'envoy.config.cluster.v3.Cluster', status=1)
    check('of another type there is nothing', 'holds nothing' in said, said)
    check('nothing has gone', names(test, one.address) == {'x', 'y', 'kept'})
    said = run(test, *delete, 'google.protobuf.StringValue')
    check('it is told', 'com.acme/x deleted' in said and 'com.acme/y deleted' in said, said)
    for node in nodes:
        wait_for('it goes everywhere', lambda node=node: names(test, node.address) == {'kept'})
    relay.start()
    wait_for('the relay has it', lambda: names(test, relay.address) == {'x', 'y'})
    for node in nodes:
        wait_for('it is back everywhere',
                 lambda node=node: names(test, node.address) == {'x', 'y', 'kept'})


def test_beside_a_dead_source(test):
    """A client in the state of the world is told, too, that something was said to be gone."""
    root = Root(test, 'root', 0)
    sources = [{'name': name, 'udpa': {'address': address}}
               for name, address in (('root', root.address), ('dead', '127.0.0.1:1'))]
    edge = Node(test, 'beside', {
        'static_resources': {'config_sources': sources},
        'providers': [{'types': ['envoy.config.cluster.v3.Cluster'], 'config_descriptors': [
            {'resource_name': source['name'], 'continuation': 'CONTINUE'} for source in sources]}],
        'timing': {'first_answer_timeout': '0.2s'}})
    for name in 'xy':
        (test.work / f'{name}.yaml').write_text(
            f'name: {name}\nresource: {{"@type": {CLUSTER}, name: {name}}}\n')
        run(test, '--server', root.address, 'apply', '-f', test.work / f'{name}.yaml')
    for form in ((), ('--state-of-the-world',)):
        watch = test.start('watch', [test.build / 'udpactl', '--server', edge.address, 'xds',
                                     'watch', 'envoy.config.cluster.v3.Cluster', *form])
        wait_for('the client has both', lambda watch=watch: 'local/y' in watch.text())
        run(test, '--server', root.address, 'delete', 'cluster', 'x')
        wait_for('it is told', lambda watch=watch: 'removed' in watch.text())
        gone = [line for line in watch.text().splitlines() if 'removed' in line]
        check('of just that', all('local/x' in line for line in gone), watch.text())
        run(test, '--server', root.address, 'apply', '-f', test.work / 'x.yaml')


def body(test):
    test_beside_a_dead_source(test)
    for workers in (0, 2):
        test_origin(test, workers)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    sys.exit(main(PARSER, body))
