#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl bug-report: the archive of a node that has a secret, a key, and tokens in its runtime and its log, is read by
tarfile; what must be in it is, and none of the secrets is anywhere in it."""
import json
import re
import stat
import sys
import tarfile

import interop
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from interop import check
from test_udpactl_wait import Client
from udpactl import Ctl, write, write_cluster

MISTAKE, NO_CONNECTION = 2, 3
PAYLOAD, PASSWORD, TOKEN, LOGGED = 'PAYLOAD-of-a-secret', 'PASSWORD-of-etcd', 'TOKEN-of-the-runtime', 'TOKEN-of-the-log'
WANTED = {'README.txt', 'status.txt', 'status.yaml', 'check.txt', 'clients.txt', 'metrics.txt', 'stats.txt',
          'runtime.json', 'config.yaml', 'log.txt'}


def start(test, files):
    path = test.work / 'node.json'
    path.write_text(json.dumps({
        'sockets': [{'address': '127.0.0.1:0'}],
        'http': {'sockets': [{'address': '127.0.0.1:0', 'tls': {
            'certificate_file': f'{files}/node.crt', 'private_key_file': f'{files}/node.key'}}]},
        'runtime': {'layers': [{'name': 'base', 'static_layer': {'upstream': {
            'token': TOKEN, 'etcd_password': PASSWORD, 'limit': 7}}}]}}), encoding='utf-8')
    node = interop.Node(test, 'node', port=None, bootstrap=path)
    return node, re.search(r'admin socket (unix:\S+)', node.text())[1]


def check_archive(test, path, key):
    check('only its owner can read it', stat.S_IMODE(path.stat().st_mode) == 0o600)
    with tarfile.open(path, format=tarfile.USTAR_FORMAT) as archive:
        members = {member.name.removeprefix('udpa-bug-report/'): archive.extractfile(member).read().decode()
                   for member in archive.getmembers()}
    check(f'it has all files: {sorted(members)}', members.keys() == WANTED)
    check('what must be in them is', all(re.search(pattern, members[name], re.M) for name, pattern in (
        ('README.txt', r'^config.yaml '), ('README.txt', r'^metrics.txt '), ('status.txt', r'^node '),
        ('status.yaml', r'NodeStatus'), ('clients.txt', r'^envoy-1 '), ('metrics.txt', r'^udpa_build_info\{'),
        ('runtime.json', r'"upstream.limit"'), ('config.yaml', r'^ +limit: "\(redacted\)"$'), ('check.txt', r'(found|errors?, )'),
        ('log.txt', r'^an ordinary line$'), ('stats.txt', r'^client_streams: 1$'))))
    whole = path.read_bytes()
    lines = [line for line in key.splitlines() if '-----' not in line and len(line) > 20]
    check('the key has lines', len(lines) > 1)
    for secret in (PAYLOAD, PASSWORD, TOKEN, LOGGED, *lines):
        check(f'{secret[:12]}… is not in it', secret.encode() not in whole)
    check('they were there to be found', whole.count(b'(redacted)') >= 4)


def body(test):
    files = test.issue('node')
    node, admin = start(test, files)
    ctl = Ctl(test, node)
    ctl('apply', '-f', write(test, 'secret.json', secret_pb2.Secret(
        name='password', generic_secret={'secret': {'inline_string': PAYLOAD}})), '-f', write_cluster(
            test, 'a.json', 'a'))
    client = Client(node.address, 'envoy-1', False)
    client.take()
    key = (files / 'node.key').read_text(encoding='ascii')
    log, path = test.work / 'udpad.log', test.work / 'report.tar'
    log.write_text(f'an ordinary line\ntoken={LOGGED} x\n{key}\n', encoding='utf-8')
    out = ctl('bug-report', '--admin', admin, '-o', path, '--log', log)
    check(f'it has written it: {out}', out.startswith(f'{path}: 10 files'))
    check_archive(test, path, key)
    ctl('bug-report', '--admin', admin, '-o', path, status=MISTAKE) # it is there
    ctl('bug-report', '-o', test.work / 'other.tar', '--log', test.work, status=MISTAKE)
    ctl('get', '-o', path, status=MISTAKE)
    client.close()
    node.stop()
    ctl('bug-report', '--admin', admin, '-o', test.work / 'none.tar', status=NO_CONNECTION)
    check('nothing is written of a node that is not there', not (test.work / 'none.tar').exists())


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
