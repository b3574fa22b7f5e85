#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 'udpactl bootstrap' prints is used as it is by a real Envoy, and by the clients of gRPC in Python and Go; with
TLS and without. A node of another name is not accepted."""
import json
import os
import pathlib
import subprocess
import sys

import interop
import envoy_peer
import grpc
import grpc_service
from authority import Authority
from grpc_clients import METHOD, PATIENCE_S, Backend
from interop import check, wait_for
from udpa_peer import Peer

HERE = pathlib.Path(__file__).resolve().parent


class Setting:
    """A node, with TLS if the variant has it."""

    def __init__(self, test):
        self.test, self.tls = test, []
        config = {'sockets': [{'address': '127.0.0.1:0'}]}
        if test.variant.endswith('tls'):
            authority = Authority(test.work / 'authority')
            certificate, key = authority.issue('node')
            own, own_key = authority.issue('client')
            config = {'sockets': [{'address': '127.0.0.1:0', 'insecure': True, 'tls': {
                'certificate_file': str(certificate), 'private_key_file': str(key),
                'client_ca_file': str(authority.certificate)}}, {'address': '127.0.0.1:0'}]}
            self.tls = ['--ca', authority.certificate, '--cert', own, '--key', own_key]
        file = test.work / 'node.json'
        file.write_text(json.dumps(config), encoding='utf-8')
        self.node = interop.Node(test, 'node', port=None, bootstrap=file)
        self.plain = self.node.address
        if self.tls:
            self.plain = wait_for('the other socket', lambda: [
                line.split('listening on ')[1].split()[0] for line in self.node.text().splitlines()
                if 'listening on ' in line and 'without TLS' in line])[0]

    def bootstrap(self, kind, *more):
        done = subprocess.run([str(part) for part in (self.test.build / 'udpactl', 'bootstrap', kind, '--server',
                                                      self.node.address, *self.tls, *more)],
                              text=True, capture_output=True, check=False, cwd=self.test.work)
        check(f'udpactl prints a bootstrap for {kind}', done.returncode == 0 and done.stderr == '')
        return done.stdout

    def client(self, name):
        """What the node knows of this client."""
        done = subprocess.run([self.test.build / 'udpactl', '--server', self.plain, 'clients', '-o', 'json'], text=True,
                              capture_output=True, check=True)
        return name in done.stdout


def envoy(test):
    binary = interop.envoy_or_skip()
    setting = Setting(test)
    config = setting.bootstrap('envoy', '--client-id', 'front-1', '--client-cluster', 'front', '--locality', 'eu/a',
                               '--envoy-admin', '127.0.0.1:0')
    with Peer(test.build, setting.plain) as peer:
        peer.publish([('one', envoy_peer.static_cluster('one'))])
        client = envoy_peer.Envoy(test, binary, None, config=config)
        client.wait_for_clusters(['one'])
        check('an Envoy gets its clusters', True)
        check('  it has its name', setting.client('front-1'))
        dump = json.loads(client.admin('/server_info'))['node']
        check('  and its place', dump['cluster'] == 'front' and
              dump['locality'] == {'region': 'eu', 'zone': 'a', 'sub_zone': ''})
        if setting.tls:
            other = setting.bootstrap('envoy', '--client-id', 'front-2', '--envoy-admin', '127.0.0.1:0', '--server-name',
                                      'elsewhere.example')
            wrong = envoy_peer.Envoy(test, binary, None, name='wrong', config=other)
            wait_for('the failure of the other', lambda: wrong.stat('cluster.udpad.ssl.fail_verify_san'))
            check('a certificate of another name is rejected', not wrong.clusters())


def publish_and_call(setting, call):
    """call(): the name of the backend that answers."""
    backend = Backend('first')
    with Peer(setting.test.build, setting.plain) as peer:
        peer.publish(grpc_service.resources(backend.port))
        check('the service of the node answers', call(backend))
        check('  and the client has its name', setting.client('grpc-1'))
    backend.server.stop(0)


def write_grpc(setting):
    file = setting.test.work / 'grpc.json'
    file.write_text(setting.bootstrap('grpc', '--client-id', 'grpc-1'), encoding='utf-8')
    os.environ['GRPC_XDS_BOOTSTRAP'] = str(file)


def python(test):
    setting = Setting(test)
    write_grpc(setting)
    with grpc.insecure_channel(f'xds:///{grpc_service.NAME}') as channel:
        publish_and_call(setting, lambda _: channel.unary_unary(METHOD)(
            b'', timeout=PATIENCE_S, wait_for_ready=True) == b'first')


def go(test):
    program = interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-client')
    setting = Setting(test)
    write_grpc(setting)
    client = interop.Process([program, '-target', f'xds:///{grpc_service.NAME}'], test.work / 'client.log')
    test.processes.append(client)
    port = client.wait_for_log('backends ').split()[1]
    with Peer(test.build, setting.plain) as peer:
        peer.publish(grpc_service.resources(int(port)))
        client.wait_for_log(f'answer 127.0.0.1:{port} SERVING')
        check('the service of the node answers', setting.client('grpc-1'))


CLIENTS = {'envoy': envoy, 'python': python, 'go': go}


def body(test):
    CLIENTS[test.variant.split('_')[0]](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(f'{name}{tls}' for name in CLIENTS for tls in ('_tls', ''))))
