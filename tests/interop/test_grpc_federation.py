#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Federation by authority (gRFC A47): clients of gRPC resolve xds://AUTHORITY/name through a node by
xdstp:// names alone, call the service, and follow its endpoints."""
import json
import os
import pathlib
import sys

import interop
import envoy_peer
import grpc
import grpc_service
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from test_grpc_python import Backend
from udpa_peer import Peer

HERE = pathlib.Path(__file__).resolve().parent
AUTHORITY = 'shops.example.com'
NAMESPACE = 'com.acme'
TARGET = f'xds://{AUTHORITY}/{grpc_service.NAME}'
NODE = {'shim': {'namespaces': [NAMESPACE]},
        'authorities': [{'name': AUTHORITY, 'namespace': NAMESPACE}]}
PATIENCE_S = 20


def spell(type_name, name):
    return f'xdstp://{AUTHORITY}/{type_name}/{name}'


def resources(port):
    """Under UDPA's names. The route's name has parameters, in two orders."""
    listener = listener_pb2.Listener()
    listener.CopyFrom(grpc_service.listener())
    listener.name = spell('envoy.config.listener.v3.Listener', grpc_service.NAME)
    manager = grpc_service.http_connection_manager_pb2.HttpConnectionManager()
    listener.api_listener.api_listener.Unpack(manager)
    route_type = 'envoy.config.route.v3.RouteConfiguration'
    manager.rds.route_config_name = spell(route_type, 'main/echo?env=test&app=shop')
    listener.api_listener.api_listener.Pack(manager)
    route = route_pb2.RouteConfiguration()
    route.CopyFrom(grpc_service.route())
    route.name = spell(route_type, 'main/echo?app=shop&env=test')
    cluster = spell(envoy_peer.TYPE_CLUSTER, 'echo')
    route.virtual_hosts[0].routes[0].route.cluster = cluster
    assignment = endpoint_pb2.ClusterLoadAssignment()
    assignment.CopyFrom(grpc_service.endpoints(port))
    assignment.cluster_name = spell('envoy.config.endpoint.v3.ClusterLoadAssignment', 'echo')
    eds = cluster_pb2.Cluster()
    eds.CopyFrom(envoy_peer.eds_cluster(cluster, service=assignment.cluster_name))
    return [(grpc_service.NAME, listener), ('main/echo?app=shop&env=test', route), ('echo', eds),
            ('echo', assignment)]


def bootstrap(address):
    """Names without an authority would go to nobody."""
    servers = json.loads(grpc_service.bootstrap(address))['xds_servers']
    return json.dumps({'xds_servers': [{**servers[0], 'server_uri': '127.0.0.1:1'}],
                       'authorities': {AUTHORITY: {'xds_servers': servers}},
                       'node': {'id': 'grpc-client'}})


def with_go(test, node):
    program = interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-client')
    client = interop.Process([program, '-target', TARGET], test.work / 'client.log')
    test.processes.append(client)
    ports = [int(port) for port in client.wait_for_log('backends ').split()[1:]]
    with Peer(test.build, node.address, namespace=NAMESPACE) as peer:
        for what, port in zip(('first', 'second'), ports):
            peer.publish(resources(port))
            client.wait_for_log(f'answer 127.0.0.1:{port} SERVING')
            interop.check(f'Go: the {what} backend answers after its endpoint was published', True)


def with_python(test, node):
    backends = {name: Backend(name) for name in ('first', 'second')}
    with Peer(test.build, node.address, namespace=NAMESPACE) as peer:
        peer.publish(resources(backends['first'].port))
        with grpc.insecure_channel(TARGET) as channel:
            name = channel.unary_unary('/interop.Echo/Name')
            for what, backend in backends.items():
                peer.publish(resources(backend.port))
                interop.wait_for(f'an answer of the {what} backend', lambda wanted=what: name(
                    b'', timeout=PATIENCE_S, wait_for_ready=True) == wanted.encode())
                interop.check(f'Python: the {what} backend answers', True)


def body(test):
    if test.variant == 'go':
        interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-client')
    config = test.work / 'node.yaml'
    config.write_text(json.dumps(NODE), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = bootstrap(node.address)
    (with_go if test.variant == 'go' else with_python)(test, node)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('go', 'python')))
