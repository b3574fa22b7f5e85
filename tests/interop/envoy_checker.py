# SPDX-License-Identifier: Apache-2.0
"""A real Envoy that checks endpoints for a node (HDS), upstreams to be checked, and what the node makes
of what it finds."""
import http.server
import ssl
import threading

from envoy.service.health.v3 import hds_pb2
from google.protobuf import json_format

import envoy_peer
from interop import wait_for
from udpa_peer import Peer

TYPE = 'udpa.health.v1.EndpointHealth'
SPECIFIER = 'envoy.service.health.v3.HealthCheckSpecifier'
EXPIRY_S = 20  # three intervals and 10 s, and what a busy machine adds
HEALTHY, UNHEALTHY, TIMEOUT = 1, 2, 4


class Upstream:
    """Answers everything with its name, and by its mood: /healthz is what checkers ask for."""

    def __init__(self, name='upstream', certificate=None):
        """certificate: the path of a chain, beside which is its key: then it speaks TLS alone."""
        self.name = name
        self.status = 200
        self.n_checks = 0
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                upstream.n_checks += self.path == '/healthz'
                self.send_response(upstream.status)
                self.send_header('content-length', str(len(upstream.name)))
                self.end_headers()
                self.wfile.write(upstream.name.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate.with_suffix('.key'))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def check_of(kind):
    return {'timeout': '1s', 'interval': '0.2s', 'no_traffic_interval': '0.2s',
            'unhealthy_threshold': 1, 'healthy_threshold': 1, **kind}


HTTP = check_of({'http_health_check': {'path': '/healthz'}})
TCP = check_of({'tcp_health_check': {}})
THRIFT = check_of({'custom_health_check': {'name': 'envoy.health_checkers.thrift'}})


def specifier(cluster, ports, checks=(HTTP,)):
    endpoints = [{'address': {'socket_address': {'address': '127.0.0.1', 'port_value': port}}}
                 for port in ports]
    return json_format.ParseDict({
        'interval': '0.3s',
        'cluster_health_checks': [{
            'cluster_name': cluster, 'health_checks': list(checks),
            'locality_endpoints': [{'locality': {'region': 'here', 'zone': 'a'},
                                    'endpoints': endpoints}]}],
    }, hds_pb2.HealthCheckSpecifier())


def bootstrap(port, name='checker', zone=None):
    config = envoy_peer.bootstrap(name, 'DELTA_GRPC', port)
    if zone:
        config['node']['locality'] = {'region': 'here', 'zone': zone}
    config['hds_config'] = envoy_peer.api('GRPC')
    config['hds_config'].pop('set_node_on_first_message_only')
    return config


class Verdicts:
    """What a node has of the type, whenever it is asked."""

    def __init__(self, test, node):
        self.build, self.address = test.build, node.address

    def __call__(self):
        """{resource name: {port: CheckedEndpoint}}"""
        with Peer(self.build, self.address, 'onlooker') as peer:
            found = peer.collect(TYPE, 'local')
        return {name: {endpoint.port: endpoint for locality in health.localities
                       for endpoint in locality.endpoints} for name, health in found.items()}


def wait_for_status(verdicts, name, port, status):
    """The CheckedEndpoint that says one of these."""
    def look():
        found = verdicts().get(name, {}).get(port)
        return found if found and found.health_status in status else None
    return wait_for(f'{name} says {status} of port {port}', look)
