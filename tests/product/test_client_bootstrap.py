#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl bootstrap: files of clients, of the command line, the environment and the context; without a node. That real
clients use them is tested by tests/interop/test_bootstrap.py."""
import argparse
import json
import os
import subprocess
import sys

from product import check, main, need_descriptors

GOOD, MISTAKE = 0, 2
BOOTSTRAP = 'type.googleapis.com/envoy.config.bootstrap.v3.Bootstrap'


def body(test):
    need_descriptors(test)
    here = test.work / 'here'
    here.mkdir()

    def ctl(*arguments, **variables):
        """(exit status, output, errors)"""
        done = subprocess.run([test.build / 'udpactl', *map(str, arguments)], text=True, capture_output=True, check=False,
                              timeout=60, cwd=here, env={**os.environ, 'XDG_CONFIG_HOME': str(test.work / 'home'), **variables})
        return done.returncode, done.stdout, done.stderr

    def grpc(*arguments, **variables):
        return json.loads(ctl('bootstrap', 'grpc', *arguments, **variables)[1])

    found = grpc('--client-id', 'a')
    check('without anything it is the node that is here', found == {'xds_servers': [{
        'server_uri': '127.0.0.1:18000', 'channel_creds': [{'type': 'insecure'}], 'server_features': ['xds_v3']}],
        'node': {'id': 'a', 'cluster': 'a', 'locality': {}}}, found)
    check('the name of the client is that of the machine', grpc()['node']['id'] == os.uname().nodename, grpc())
    check('a context has its node and certificates', ctl('context', 'set', 'lab', '--server', 'one:1,two:2', '--ca', 'ca.crt',
                                                         '--node-id', 'ci')[0] == GOOD)
    servers = grpc('--client-cluster', 'b')['xds_servers']
    check('  which are used', [server['server_uri'] for server in servers] == ['one:1', 'two:2'] and
          servers[1]['channel_creds'] == [{'type': 'tls', 'config': {'ca_certificate_file': str(here / 'ca.crt')}}], servers)
    check('  but not its node id, which is that of udpactl', 'ci' not in ctl('bootstrap', 'grpc')[1])
    found = grpc(UDPACTL_SERVER='three:3')['xds_servers'][0]
    check('  not with another server', found['server_uri'] == 'three:3' and found['channel_creds'][0]['type'] == 'insecure',
          found)
    status, text, errors = ctl('bootstrap', 'envoy', '--client-id', 'a')
    check('the file of an Envoy is YAML', status == GOOD and text.startswith('node:\n  id: a\n') and errors == '', errors)
    indented = text.replace('\n', '\n  ')
    (here / 'envoy.yaml').write_text(f'name: a/a\nresource:\n  "@type": {BOOTSTRAP}\n  {indented}\n')
    status, _, errors = ctl('validate', here / 'envoy.yaml')
    check('  and is valid', status == GOOD, errors)
    found = json.loads(ctl('bootstrap', 'envoy', '-o', 'json')[1])
    check('  or JSON', found['static_resources']['clusters'][0]['type'] == 'STRICT_DNS', found)
    check('a part of it can be taken', ctl('bootstrap', 'envoy', '-o', 'jsonpath={.admin.address.socket_address.port_value}')[1]
          .strip() == '9901')
    for arguments, error in (
            ((), 'bootstrap takes the kind of the client'),
            (('nginx',), 'bootstrap takes the kind of the client'),
            (('envoy', 'grpc'), 'bootstrap takes the kind of the client'),
            (('grpc', '--envoy-admin', '127.0.0.1:1'), '--envoy-admin goes with bootstrap envoy'),
            (('envoy', '--envoy-admin', 'localhost:1'), '--envoy-admin takes an address and a port'),
            (('envoy', '-o', 'name'), 'bootstrap envoy has yaml and json'),
            (('grpc', '-o', 'yaml'), 'clients of gRPC read json alone'),
            (('envoy', '--client-id', ''), 'an id is not empty'),
            (('envoy', '-n', 'com.acme'), '-n com.acme'),
            (('envoy', '--server', 'unix:/x', '--ca', 'a'), 'give --server-name'),
            (('grpc', '--server', 'a:1', '--ca', 'a', '--server-name', 'b'), 'no such field')):
        status, text, errors = ctl('bootstrap', *arguments)
        check(f'{arguments}: {error}', status == MISTAKE and error in errors and text == '', (status, errors, text))
    status, _, errors = ctl('get', '--locality', 'a')
    check('its options are of no other command', status == MISTAKE and 'go with bootstrap' in errors, errors)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
