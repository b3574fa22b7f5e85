#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Envoy is configured by REST alone, all eight types, and its requests are held until a change.

By HTTP/2 all of them are held on one connection; with TLS each side shows its certificate. What is
served, and how it is seen in HTTP answers, is as in test_envoy_types.py.
"""
import json
import subprocess
import sys
import time

import interop
import envoy_peer
import test_envoy_types as types
from udpa_peer import Peer

TLS_TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext'
N_TYPES = 8
REQUEST_TIMEOUT_S = 8 # a fifth of it is what a busy machine may take to answer
ATTEMPTS = 'cluster_manager.cds.update_attempt'
# Envoy says when it gives up; the node answers that nothing has changed a fifth of it before.
HELD_S = 2
BAD_HTTP = 'cluster.udpad.upstream_rq_(4xx|5xx|timeout)|cluster.udpad.upstream_cx_connect_fail'


class Setting(types.Setting):
    """As that of a SotW variant, with another way to ask."""

    def __init__(self, test):
        self.protocol = test.variant
        test.variant = 'sotw_per_type'
        super().__init__(test)
        if self.protocol == 'http2_tls':
            for name in ('node', 'envoy'):
                subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca',
                                self.certificates, name], check=True, capture_output=True)
        self.own_stream = self.source = {
            'resource_api_version': 'V3',
            'api_config_source': {
                'api_type': 'REST', 'transport_api_version': 'V3', 'cluster_names': ['udpad'],
                'refresh_delay': '0.02s', 'request_timeout': f'{REQUEST_TIMEOUT_S}s'}}

    def bootstrap(self, port):
        config = super().bootstrap(port)
        for cluster in config['static_resources']['clusters']:
            if self.protocol == 'http1':
                del cluster['typed_extension_protocol_options']
            elif self.protocol == 'http2_tls':
                cluster['transport_socket'] = {'name': 'tls', 'typed_config': self.tls()}
        return config

    def tls(self):
        return {
            '@type': TLS_TYPE, 'sni': 'localhost', 'common_tls_context': {
                'alpn_protocols': ['h2'],
                'tls_certificates': [{
                    'certificate_chain': {'filename': str(self.certificates / 'envoy.crt')},
                    'private_key': {'filename': str(self.certificates / 'envoy.key')}}],
                'validation_context': {
                    'trusted_ca': {'filename': str(self.certificates / 'ca.crt')}}}}

    def socket(self):
        """Of the node."""
        socket = {'address': '127.0.0.1:0'}
        if self.protocol == 'http2_tls':
            socket['tls'] = {'certificate_file': str(self.certificates / 'node.crt'),
                             'private_key_file': str(self.certificates / 'node.key'),
                             'client_ca_file': str(self.certificates / 'ca.crt')}
        return socket


# How soon is measured on streams; here only that it is not after a hold.
types.BOUND_S = REQUEST_TIMEOUT_S - 1


def rest_port(node):
    line = next(line for line in node.text().splitlines() if 'over REST' in line)
    return int(line.split('listening on ')[1].split()[0].rsplit(':', 1)[1])


def check_held(bench):
    """A client that polls each 20 ms would ask a hundred times."""
    before = bench.envoy.stat(ATTEMPTS)
    begin = time.monotonic()
    interop.wait_for('time to pass', lambda: time.monotonic() - begin > HELD_S)
    asked = bench.envoy.stat(ATTEMPTS) - before
    interop.check(f'while nothing changes its request is held: {asked} in {HELD_S} s', asked <= 1)


def check_connections(bench):
    """By HTTP/2 all types are asked for at once, on one connection, which lasts."""
    def total(name):
        return bench.envoy.stat(f'cluster.udpad.{name}')

    if bench.setting.protocol == 'http1':
        interop.check('it is HTTP/1.1', total('upstream_cx_http1_total') and
                      not total('upstream_cx_http2_total'))
        return
    interop.wait_for('all types to be held', lambda: total('upstream_rq_active') >= N_TYPES)
    interop.check('they are, on one connection of HTTP/2', total('upstream_cx_http2_total') == 1 and
                  not total('upstream_cx_http1_total'))
    interop.check('it has not been lost', not total('upstream_cx_destroy'))


def check_given_up(bench):
    """The hold ends before Envoy's own limit, which would count as a failure."""
    def next_attempt():
        before = bench.envoy.stat(ATTEMPTS)
        interop.wait_for('another request', lambda: bench.envoy.stat(ATTEMPTS) > before)
        return time.monotonic()

    begin = next_attempt() # it may have come at once, if something has just changed
    held = next_attempt() - begin
    interop.check(f'a hold ends before Envoy gives up: {held:.1f} s', 1 < held < REQUEST_TIMEOUT_S)
    wrong = {name: value for name, value in bench.envoy.stats(BAD_HTTP).items() if value}
    interop.check(f'no request has failed: {wrong}', not wrong)


def refuse_one(bench):
    """A cluster that Envoy refuses is sent again once a hold, not at each of its polls."""
    counter = 'cluster_manager.cds.update_rejected'
    bench.peer.publish([('bad', envoy_peer.static_cluster('bad', '0s'))])
    interop.wait_for('the refusal', lambda: (bench.envoy.stat(counter) or 0) > 0)
    interop.never('a third attempt', lambda: bench.envoy.stat(counter) > 2, HELD_S)
    bench.change('CDS', 'bad', envoy_peer.static_cluster('bad', '3s'),
                 lambda: 'bad' in bench.envoy.active_clusters())
    interop.check('the cluster beside it is used', bench.backend('third'))
    types.check_counters(bench, counter)


def body(test):
    binary = interop.envoy_or_skip()
    setting = Setting(test)
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(json.dumps({'http': {'sockets': [setting.socket()]}}))
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    port = rest_port(node)
    with Peer(test.build, node.address) as peer:
        peer.publish(setting.initial())
        begin = time.monotonic()
        envoy = envoy_peer.Envoy(test, binary, port, config=setting.bootstrap(port))
        bench = types.Bench(test, setting, peer, envoy)
        types.check_applied(bench, begin)
        check_held(bench)
        types.change_each(bench)
        types.remove_some(bench)
        check_given_up(bench)
        check_connections(bench)
        types.check_counters(bench, None)
        refuse_one(bench)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('http1', 'http2', 'http2_tls')))
