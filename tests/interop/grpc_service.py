# SPDX-License-Identifier: Apache-2.0
"""A service as gRPC's own xDS clients resolve it: listener, route, cluster, endpoints."""
import json

from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from google.protobuf import json_format
# For what is packed into the listener.
from envoy.extensions.filters.http.router.v3 import router_pb2  # noqa: F401
from envoy.extensions.filters.network.http_connection_manager.v3 import (  # noqa: F401
    http_connection_manager_pb2)

import envoy_peer

NAME = 'echo'
ROUTE = 'echo-route'
CLUSTER = 'echo-cluster'
EXTENSIONS = 'type.googleapis.com/envoy.extensions.filters.'


def listener():
    return json_format.ParseDict({'name': NAME, 'api_listener': {'api_listener': {
        '@type': EXTENSIONS + 'network.http_connection_manager.v3.HttpConnectionManager',
        'rds': {'config_source': envoy_peer.ADS, 'route_config_name': ROUTE},
        'http_filters': [{'name': 'router', 'typed_config': {
            '@type': EXTENSIONS + 'http.router.v3.Router'}}],
    }}}, listener_pb2.Listener())


def route():
    return json_format.ParseDict({'name': ROUTE, 'virtual_hosts': [{
        'name': 'all', 'domains': ['*'],
        'routes': [{'match': {'prefix': ''}, 'route': {'cluster': CLUSTER}}],
    }]}, route_pb2.RouteConfiguration())


def endpoints(port):
    """gRPC leaves out localities without a weight."""
    locality = envoy_peer.endpoints(port)[0]
    locality.update({'locality': {'region': 'here'}, 'load_balancing_weight': 1})
    return json_format.ParseDict({'cluster_name': CLUSTER, 'endpoints': [locality]},
                                 endpoint_pb2.ClusterLoadAssignment())


def resources(port):
    return [(NAME, listener()), (ROUTE, route()), (CLUSTER, envoy_peer.eds_cluster(CLUSTER)),
            (CLUSTER, endpoints(port))]


def bootstrap(*addresses):
    """The first of these is the one to use, the next ones are there for when it is away."""
    return json.dumps({
        'xds_servers': [{'server_uri': address, 'channel_creds': [{'type': 'insecure'}],
                         'server_features': ['xds_v3']} for address in addresses],
        # The client for Node.js refuses a bootstrap without a locality.
        'node': {'id': 'grpc-client', 'locality': {}}})
