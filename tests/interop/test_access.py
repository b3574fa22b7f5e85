#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node with rules, and peers with certificates: each publishes and is shown what its rules say,
by UDPA and by xDS, and is told which rule stands in the way."""
import copy
import json
import signal
import subprocess
import sys

import interop
import udpactl

CONFIG = {
    'acl': {'rules': [
        {'name': 'shops', 'identities': ['spiffe://acme.test/shop/*'],
         'actions': ['PUBLISH', 'SUBSCRIBE'], 'namespaces': ['shop.acme']},
        {'name': 'importer', 'identities': ['importer'], 'actions': ['PUBLISH'],
         'namespaces': ['bank.acme'], 'on_behalf_of': ['bank']},
        {'name': 'audit', 'identities': ['auditor'], 'actions': ['SUBSCRIBE', 'ADMIN']},
    ]},
}
CLUSTER = {'@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster', 'connect_timeout': '1s'}


class Peers:
    """udpactl with the certificate of somebody."""

    def __init__(self, test):
        self.test = test
        self.folder = test.work / 'certificates'
        for name, *more in (('node',), ('shop-1', '--uri', 'spiffe://acme.test/shop/1'),
                            ('importer',), ('auditor',), ('mallory',)):
            subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', self.folder, name,
                            *more], check=True, capture_output=True)
        self.node = None

    def tls(self):
        return {'certificate_file': str(self.folder / 'node.crt'),
                'private_key_file': str(self.folder / 'node.key'),
                'client_ca_file': str(self.folder / 'ca.crt')}

    def __call__(self, who, *arguments, stdin=None):
        done = subprocess.run(
            [self.test.build / 'udpactl', '--server', self.node.address,
             '--descriptors', udpactl.descriptors(self.test), '--ca', self.folder / 'ca.crt',
             '--cert', self.folder / f'{who}.crt', '--key', self.folder / f'{who}.key',
             *arguments], input=stdin, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def apply(self, who, name, *more):
        return self(who, 'apply', '-f', '-', *more, stdin=json.dumps(
            {'name': name, 'resource': {**CLUSTER, 'name': name.split('/')[1]}}))


def write(test, peers):
    path = test.work / 'node.yaml'
    path.write_text(json.dumps({**test.config, 'sockets': [
        {'address': '127.0.0.1:0', 'tls': peers.tls()}]}), encoding='utf-8')
    return path


def check_why(test, peers):
    """Who waits long is told why, if it may know: that it may not is no answer to what it asked."""
    test.config = {**copy.deepcopy(CONFIG),
                   'static_resources': {'config_sources': [
                       {'name': 'gone', 'udpa': {'address': '127.0.0.1:1'}}]},
                   'providers': [{'config_descriptors': [{'resource_name': 'gone'}]}]}
    node, peers.node = peers.node, interop.Node(test, 'waiting', None, write(test, peers))
    for who, is_told in (('shop-1', False), ('auditor', True)):
        _, said = peers(who, '--timeout', '2', 'get', 'cluster', '-n', 'shop.acme', '-o', 'name')
        interop.check(f'who waits long is told the reason if it may know it\n{said}',
                      'has not synchronized within 2 s' in said and 'may not' not in said and
                      ('it waits for gone' in said) == is_told)
    status, said = peers('shop-1', 'get', 'udpa.status.v1.NodeStatus')
    interop.check(f'asked for itself it is denied\n{said}', status != 0 and 'may not subscribe' in said)
    peers.node.stop()
    peers.node = node


def body(test):
    peers = Peers(test)
    test.config = copy.deepcopy(CONFIG)
    peers.node = interop.Node(test, 'node', None, write(test, peers))

    status, said = peers.apply('shop-1', 'shop.acme/tills')
    interop.check(f'a shop publishes in its namespace\n{said}', status == 0)
    status, said = peers.apply('shop-1', 'bank.acme/vault')
    interop.check(f'and in no other, and is told why\n{said}', status != 0 and
                  "rule 'shops', the nearest, is for other namespaces" in said)
    status, said = peers.apply('mallory', 'shop.acme/tills')
    interop.check(f'whom no rule is for publishes nothing\n{said}', status != 0 and
                  "no rule of the section 'acl' is for this peer" in said)
    status, said = peers.apply('importer', 'bank.acme/vault')
    interop.check(f'another publishes for the bank\n{said}', status == 0)

    _, said = peers('shop-1', 'get', 'cluster', '-n', 'shop.acme', '-o', 'name')
    interop.check(f'the shop is shown its own\n{said}', 'shop.acme/tills' in said)
    _, said = peers('shop-1', 'get', 'cluster', '-o', 'name')
    interop.check(f'and of all there is nothing else\n{said}',
                  'shop.acme/tills' in said and 'bank.acme' not in said)
    status, said = peers('shop-1', 'get', 'cluster', 'bank.acme/vault')
    interop.check(f'what is not for it is refused by name\n{said}',
                  status != 0 and "may not subscribe to 'bank.acme/vault'" in said)
    _, said = peers('auditor', 'get', 'cluster', '-o', 'name')
    interop.check(f'the auditor is shown all\n{said}',
                  'shop.acme/tills' in said and 'bank.acme/vault' in said)

    status, said = peers('auditor', 'status')
    interop.check(f'and the status of the node\n{said}', status == 0 and 'SESSIONS' in said)
    status, said = peers('shop-1', 'status')
    interop.check(f'which the shop is not\n{said}', status != 0 and 'may not subscribe' in said)

    def can(answer, *words):
        status, said = peers('auditor', 'auth', 'can-i', *words)
        interop.check(f'can-i {" ".join(words)}: {said}', (status == 0) == answer and
                      said.startswith('yes: rule' if answer else 'no: '))

    can(True, 'spiffe://acme.test/shop/9', 'publish', 'cluster', 'shop.acme/x')
    can(False, 'spiffe://acme.test/shop/9', 'publish', 'cluster', 'bank.acme/x')
    can(True, 'importer', 'publish', 'endpoint', 'bank.acme/x', 'bank')
    can(False, 'importer', 'publish', 'endpoint', 'bank.acme/x', 'mallory')
    can(False, 'importer', 'subscribe', 'endpoint', 'bank.acme/x')
    status, said = peers('shop-1', 'auth', 'can-i', 'x', 'publish', 'cluster', 'x')
    interop.check(f'only who is told of nodes is told of rules\n{said}', status != 0 and
                  'may not subscribe' in said)

    check_why(test, peers)
    test.config = copy.deepcopy(CONFIG)
    test.config['acl']['rules'][0]['namespaces'].append('bank.acme')
    test.config['acl']['rules'][2]['actions'].remove('SUBSCRIBE')
    write(test, peers)
    peers.node.process.send_signal(signal.SIGHUP)
    peers.node.wait_for_log('3 rules are effective now')
    status, said = peers('shop-1', 'get', 'cluster', 'bank.acme/vault', '-o', 'name')
    interop.check(f'other rules hold after SIGHUP\n{said}', status == 0)
    status, said = peers('auditor', 'get', 'cluster', 'bank.acme/vault')
    interop.check(f'also where they take away\n{said}', status != 0)
    del test.config['acl']
    write(test, peers)
    peers.node.process.send_signal(signal.SIGHUP)
    peers.node.wait_for_log('it takes a restart until this is effective: acl')
    status, said = peers('auditor', 'get', 'cluster', 'bank.acme/vault')
    interop.check('no rules are not put into use', status != 0)

    _, said = peers('mallory', 'xds', 'get', 'cluster', '-o', 'name')
    interop.check(f'by xDS, too, nobody is shown what is not for him\n{said}',
                  'vault' not in said)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
