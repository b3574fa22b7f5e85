#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that a node has is copied into a file and applied at an empty root, secrets included: by TLS, and by
those who may administer the node. The node sees to that, whatever the program that asks is."""
import json
import subprocess
import sys

import interop
import udpactl

from interop import check
from udpa_peer import Peer, PREFIX

SECRET = PREFIX + 'envoy.extensions.transport_sockets.tls.v3.Secret'
STRING = PREFIX + 'google.protobuf.StringValue'
WORD = 'correct-horse-battery-staple'
RULES = [
    {'name': 'operators', 'identities': ['operator'], 'actions': ['PUBLISH', 'SUBSCRIBE', 'ADMIN'],
     'on_behalf_of': ['*']},
    {'name': 'proxies', 'identities': ['proxy'], 'actions': ['SUBSCRIBE']},
    {'name': 'status alone', 'identities': ['onlooker'], 'actions': ['SUBSCRIBE']},
    {'name': 'status', 'identities': ['onlooker'], 'actions': ['ADMIN'], 'types': ['*.NodeStatus']},
]
DOCUMENTS = f"""\
name: com.acme/password
origin_info: {{authority: vault}}
resource: {{"@type": {SECRET}, name: password, generic_secret: {{secret: {{inline_string: {WORD}}}}}}}
---
name: com.acme/greeting
version: v7
resource: {{"@type": {STRING}, value: good day}}
"""


def write_config(test, name, workers, tls=None):
    path = test.work / f'{name}.yaml'
    config = {'workers': workers} if workers else {}
    if tls:
        config['acl'] = {'rules': RULES}
        config['sockets'] = [{'address': '127.0.0.1:0', 'tls': tls}]
    path.write_text(json.dumps(config), encoding='utf-8')
    return path


class People:
    """udpactl, with the certificate of somebody or in the clear."""

    def __init__(self, test):
        self.test, self.folder = test, test.work / 'certificates'
        for name in ('node', 'operator', 'proxy', 'onlooker'):
            subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', self.folder, name],
                           check=True, capture_output=True)

    def tls(self):
        return {'certificate_file': str(self.folder / 'node.crt'),
                'private_key_file': str(self.folder / 'node.key'),
                'client_ca_file': str(self.folder / 'ca.crt')}

    def __call__(self, node, who, *arguments, stdin=None, status=0):
        by_tls = ['--ca', self.folder / 'ca.crt', '--cert', self.folder / f'{who}.crt',
                  '--key', self.folder / f'{who}.key'] if who else []
        done = subprocess.run(
            [self.test.build / 'udpactl', '--server', node.address, '--descriptors',
             udpactl.descriptors(self.test), *by_tls, *arguments],
            input=stdin, capture_output=True, text=True, timeout=60, check=False)
        check(f'{who or "somebody"}: udpactl {" ".join(arguments)}: {done.returncode}\n'
              f'{done.stdout}{done.stderr}', done.returncode == status)
        return done.stderr if status else done.stdout


def payload(test, address, features):
    """What a peer with these features is sent as the payload of the secret, in the clear."""
    with Peer(test.build, address, 'somebody', namespace='com.acme', features=features) as peer:
        return peer.first_payload(SECRET, 'com.acme')


def test_by_tls(people, node):
    copy = ('get', '--all', '-o', 'yaml')
    people(node, 'operator', 'apply', '-f', '-', stdin=DOCUMENTS)
    said = people(node, 'proxy', *copy, '--with-secrets', status=1)
    check('who may not administer is told so',
          'a copy with secrets takes the action ADMIN: proxy may not' in said and
          "rule 'proxies', the nearest, is for other actions" in said)
    said = people(node, 'onlooker', *copy, '--with-secrets', status=1)
    check('so is who may see its status alone', "rule 'status', the nearest, is for other types" in said)
    said = people(node, 'onlooker', *copy)
    check('without the option the payload is left out', WORD not in said and 'redacted' in said)
    check('but nothing else', 'com.acme/password' in said and 'good day' in said)
    said = people(node, 'operator', *copy, '--with-secrets')
    check('who may administer is given it', WORD in said and 'redacted' not in said)
    return said


def test_in_the_clear(test, people, root, copy):
    said = people(root, None, 'get', '--all', '-o', 'yaml', '--with-secrets', status=2)
    check('udpactl does not ask for secrets in the clear', 'not asked for in the clear' in said)
    said = people(root, None, 'apply', '--restore', '-f', '-', stdin=copy)
    check('the file restores an empty root', 'com.acme/password' in said)
    said = people(root, None, 'get', '-o', 'json', 'secret')
    check('with the authority of the secret', '"vault"' in said and WORD not in said)
    check('whoever uses the secret has it as it was',
          WORD.encode() in payload(test, root.address, ['udpa.ext.v1']))
    check('to whom it shows things to people the node sends nothing of it',
          payload(test, root.address, ['udpa.ext.v1', 'udpa.redacted.v1']) == b'')
    try:
        payload(test, root.address, ['udpa.ext.v1', 'udpa.secrets.v1'])
    except interop.Failure as failure:
        check(f'and whoever copies them is refused by the node: {failure}',
              'PERMISSION_DENIED: a copy with secrets is sent by TLS alone' in str(failure))
        return
    raise interop.Failure('secrets were copied in the clear')


def body(test):
    people = People(test)
    for workers in (0, 2):
        node = interop.Node(test, f'node{workers}', None,
                            write_config(test, f'node{workers}', workers, people.tls()))
        root = interop.Node(test, f'root{workers}', 0, write_config(test, f'root{workers}', workers))
        test_in_the_clear(test, people, root, test_by_tls(people, node))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
