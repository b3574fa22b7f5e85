#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The configuration in effect, as the page /config, udpactl config and the archive of udpactl bug-report have it: all of
it, without any of the secrets that lie in it and beside it; who may; and what is read again."""
import argparse
import copy
import hashlib
import http.client
import json
import re
import subprocess
import sys
import tarfile

from product import PATIENCE_S, admin_page, ask, check, main, wait_for

REDACTED = '(redacted)'
PIN, COMMENT, TOKEN, DISK, SET = 471147114711, 'SECRET-comment', 'SECRET-token-of-admin', 'SECRET-disk', 'SECRET-set'
KEY = '-----BEGIN PRIVATE KEY-----\nSECRET-key\n-----END PRIVATE KEY-----\n'
# One of each kind; a text that begins with SECRET is one, and so is the number.
MATCH = {'metadata': [{'path': ['team'], 'value': 'SECRET-of-metadata'}],
         'dynamicParameters': [{'key': 'stage', 'value': 'SECRET-of-parameter'}]}
LAYER = {'shop': {'color': 'SECRET-of-layer', 'pin': PIN, 'deep': {'er': 'SECRET-deep'}},
         'udpa': {'log': {'level': 'info'}}}
METADATA = {'label': 'SECRET-of-node', 'all': ['SECRET-of-list', PIN, True], 'team': {'name': 'SECRET-of-team'}}
USER, HIDDEN_USER = 'https://ops:SECRET-of-url@acme.com/x', f'https://{REDACTED}@acme.com/x'


def rule(name, *identities, actions=('ADMIN', 'SUBSCRIBE')):
    return {'name': name, 'identities': ['unix:*', '*', *identities], 'actions': list(actions)}


class Node:
    def __init__(self, test, name, **more):
        disk = test.work / f'{name}-layer'
        (disk / 'shop').mkdir(parents=True)
        (disk / 'shop' / 'code').write_text(DISK)
        token = test.work / f'{name}.token'
        token.write_text(TOKEN)
        token.chmod(0o600)
        self.test, self.name, self.token, self.path = test, name, token, test.work / f'{name}.yaml'
        self.config = {
            'node': {'id': name, 'cluster': 'shop'}, 'sockets': [{'address': '127.0.0.1:0'}],
            'staticResources': {'configSources': [{'name': 'control', 'xds': {
                'address': '127.0.0.1:1', 'authority': 'control', 'client': {'id': 'me', 'metadata': METADATA}}}]},
            'providers': [{'types': ['envoy.config.cluster.v3.Cluster'],
                           'configDescriptors': [{'resourceName': 'control'}]}],
            'audiences': [{'name': 'shop', 'match': MATCH}],
            'acl': {'rules': [rule('first', USER, KEY, 'ops@acme.com')]},
            'store': {'directory': f'{test.work}/{name}-data'},
            'runtime': {'layers': [{'name': 'base', 'staticLayer': LAYER},
                                   {'name': 'disk', 'diskLayer': {'symlinkRoot': str(disk)}},
                                   {'name': 'admin', 'adminLayer': {}}]},
            'admin': {'tokenFile': str(token)}, 'timing': {'connectGrace': '1.500s'}, **more}
        self.write()
        self.process = test.start(name, [test.build / 'udpad', '-c', self.path])
        line = self.process.wait_for_log('admin socket unix:')
        self.admin = line.split('admin socket ')[1].split(' ')[0]

    def write(self):
        """YAML, for the comment; all else of it is JSON."""
        self.path.write_text(f'# {COMMENT}\n{json.dumps(self.config)}\n')

    def sha256(self):
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def page(self, path, *more, **fields):
        return admin_page(self.process, path, *more, **fields)

    def json(self):
        return json.loads(self.page('/config?format=json')[1])

    def ctl(self, *arguments):
        address = self.process.wait_for_log('listening on ').split('listening on ')[1].split(' ')[0]
        done = subprocess.run([str(part) for part in (self.test.build / 'udpactl', '--server', address, '--admin', self.admin,
                                                      *arguments)],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        check(f'udpactl {arguments[0]}', done.returncode == 0, done.stderr)
        return done.stdout


def redacted(value, is_free=False):
    if isinstance(value, dict):
        return {key: redacted(one, is_free or one in (LAYER, METADATA)) for key, one in value.items()}
    if isinstance(value, list):
        return [redacted(one, is_free) for one in value]
    if value == USER:
        return HIDDEN_USER
    is_secret = is_free or value == KEY or str(value).startswith('SECRET')
    return REDACTED if is_secret else value


def check_without_secrets(what, text):
    for secret in ('SECRET', str(PIN), 'PRIVATE KEY', COMMENT):
        check(f'{what}: no {secret[:16]}', secret not in text, text)


def check_forms(node):
    status, text, headers = node.page('/config')
    check('YAML by itself', status == 200 and headers['content-type'] == 'application/yaml', (status, text))
    check('with where it is from', f'\n# file: {node.path}\n' in text and f'\n# SHA-256: {node.sha256()}\n' in text and
          '# read: 20' in text and f'-c {node.path}\n' in text, text)
    check_without_secrets('YAML', text)
    again = node.test.work / 'again.yaml'
    again.write_text(text)
    done = subprocess.run([node.test.build / 'udpad', '--check', '-c', again], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    check('it is a bootstrap file', done.returncode == 0, done.stderr)
    status, text, headers = node.page('/config?format=json')
    check('JSON', status == 200 and headers['content-type'] == 'application/json', (status, text))
    check_without_secrets('JSON', text)
    found = json.loads(text)
    check('all of it', found['bootstrap'] == redacted(node.config), found['bootstrap'])
    check('and where it is from', found['file'] == str(node.path) and found['sha256'] == node.sha256() and
          found['arguments'] == ['-c', str(node.path)] and 'read_again_at' not in found, found)
    check('as a client accepts it', json.loads(node.page('/config', headers={'accept': 'application/json'})[1]) == found)
    check('what is no form', node.page('/config?format=xml')[0] == 400)
    check('it takes nothing', node.page('/config', 'POST', '{}', {'content-type': 'application/json'})[0] in (404, 405))
    check('nothing else', node.json() == found)


def check_udpactl(node):
    shown = node.ctl('config')
    check('as udpactl shows it', shown == node.page('/config')[1], shown)
    check('as JSON', json.loads(node.ctl('config', '-o', 'json')) == node.json())
    check('a part of it', node.ctl('config', '-o', 'jsonpath={.bootstrap.node.cluster}').strip() == 'shop')
    path = node.test.work / 'report.tar'
    node.page('/runtime_modify', 'POST', json.dumps({'shop.by_hand': SET}), {'content-type': 'application/json'})
    node.ctl('bug-report', '-o', path)
    with tarfile.open(path) as archive:
        files = {member.name.split('/')[1]: archive.extractfile(member).read().decode() for member in archive.getmembers()}
    check('the archive has it', files['config.yaml'] == shown, files.keys())
    check('and says so', 'config.yaml' in files['README.txt'], files['README.txt'])
    runtime = json.loads(files['runtime.json'])['entries']
    check('of the runtime the keys', {'shop.color', 'shop.code', 'shop.by_hand', 'udpa.log.level'} <= runtime.keys() and
          runtime['udpa.log.level']['final_value'] == 'info' and
          runtime['shop.by_hand'] == {'final_value': REDACTED, 'layer_values': ['', '', REDACTED]}, runtime)
    for name, text in files.items():
        check_without_secrets(name, text)
    live = node.page('/runtime')[1]
    check('they were there to be found', all(secret in live for secret in (SET, DISK, str(PIN), 'SECRET-of-layer')), live)


def check_reload(node):
    started, before = copy.deepcopy(node.config), node.sha256()
    node.config['acl'] = {'rules': [rule('second')]}
    node.config['node']['cluster'] = 'other'
    node.write()

    def is_read(sha256):
        return lambda: node.json().get('read_again_sha256') == sha256
    wait_for('what is read again', is_read(node.sha256()))
    found = node.json()
    check('the rules are those of the file, the rest is as it was', found['bootstrap'] ==
          redacted({**started, 'acl': node.config['acl']}), found)
    check('that is reported', found['sha256'] == before and
          found['restart_needed'] == 'node.cluster' and 'rejected_since' not in found, found)
    text = node.page('/config')[1]
    check('in YAML, too', 'takes a restart: node.cluster\n' in text and f'then: {node.sha256()}\n' in text, text)
    node.config['acl'] = None
    node.write()
    wait_for('a file without rules', is_read(node.sha256()))
    now = node.json()
    check('rules do not go by a reload', now['bootstrap'] == found['bootstrap'] and
          now['restart_needed'] == 'node.cluster, acl' and 'rejected_since' not in now, now)
    node.path.write_text('acl: {rules: [{name: third}]}\nworkers: 1000\n')
    wait_for('what is wrong', is_read(node.sha256()))
    now = node.json()
    check('of a file with errors nothing is taken over', now['bootstrap'] == found['bootstrap'] and
          'rejected_since' in now and 'restart_needed' not in now, now)
    check_without_secrets('then', node.page('/config')[1])


def check_access(test):
    node = Node(test, 'strict', acl={'rules': [rule('all', actions=['SUBSCRIBE'])]},
                http={'sockets': [{'address': '127.0.0.1:0'}], 'adminPages': True})
    status, text, _ = node.page('/config')
    check('without ADMIN there is none', status == 403 and 'node:' not in text, (status, text))
    check('with the token there is', node.page('/config', headers={'authorization': f'Bearer {TOKEN}'})[0] == 200)
    port = int(re.search(r'listening on [\d.]+:(\d+) \([^)]*over REST;', node.process.text())[1])
    found = {path: ask(http.client.HTTPConnection('127.0.0.1', port, timeout=PATIENCE_S), path)[0]
             for path in ('/livez', '/config')}
    check('sockets of HTTP do not have it', found == {'/livez': 200, '/config': 404}, found)


def body(test):
    node = Node(test, 'edge')
    check_forms(node)
    check_udpactl(node)
    check_reload(node)
    check_access(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
