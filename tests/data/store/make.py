#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the store of this release, as a backup: format-NUMBER.db beside this file. Each release with another format adds
one, and none is made anew: tests/product/test_backup.py shows that later releases read them all.

    tests/data/store/make.py BUILD"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STRING = 'type.googleapis.com/google.protobuf.StringValue'
SECRET = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'
KEY = '00112233445566778899aabbccddeeff' * 2  # of this fixture alone


def resources():
    for name, value in (('kept', 'one'), ('removed', 'two')):
        yield {'name': f'com.acme/{name}', 'resource': {'@type': STRING, 'value': value}}
    yield {'name': 'com.acme/secret', 'resource': {
        '@type': SECRET, 'name': 'com.acme/secret', 'generic_secret': {'secret': {'inline_string': 'not a secret'}}}}


def make(build, work):
    (work / 'key').write_text(KEY)
    (work / 'key').chmod(0o600)
    (work / 'udpad.json').write_text(json.dumps({'node': {'id': 'core'}, 'store': {'keys': [{'file': str(work / 'key')}]}}))
    (work / 'all.yaml').write_text('\n---\n'.join(json.dumps(one) for one in resources()))
    node = subprocess.Popen([build / 'udpad', '-c', work / 'udpad.json', '--state', work / 'data', '--listen',
                             '127.0.0.1:0'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(found[1] for line in node.stdout if (found := re.search(r'listening on ([\d.:]+)', line)))
        ctl = [build / 'udpactl', '--server', address, '--admin', f'unix:{work}/data/admin.sock']
        subprocess.run([*ctl, 'apply', '-f', work / 'all.yaml'], check=True)
        subprocess.run([*ctl, 'delete', STRING, 'com.acme/removed'], check=True)
        subprocess.run([*ctl, 'backup', work / 'backup.db'], check=True)
    finally:
        node.send_signal(signal.SIGINT)
        node.wait()
    status = subprocess.run([build / 'udpactl', 'backup', 'status', work / 'backup.db'], capture_output=True, text=True,
                            check=True).stdout
    file = HERE / f'format-{re.search("^format: (.*)", status, re.M)[1]}.db'
    with open(file, 'xb') as out:  # one that is there stays
        out.write((work / 'backup.db').read_bytes())
    print(f'{file.name}:\n{status}')


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as directory:
        make(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(directory))
