#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every method of xDS v3, on the wire: each service streams its type, its changes and in delta its
removals, and fetches it; the aggregated one does so for all types on one stream, and for any other."""
import sys

import interop
import grpc
from google.protobuf import any_pb2
from udpa_peer import Peer
from xds_peer import METHODS, PATIENCE_S, PREFIX, Client, discovery_pb2

# API: the package and name of the service, what its methods are called, and the type.
SERVICES = {
    'LDS': ('listener', 'ListenerDiscoveryService', 'Listeners', 'config.listener.v3.Listener'),
    'RDS': ('route', 'RouteDiscoveryService', 'Routes', 'config.route.v3.RouteConfiguration'),
    'SRDS': ('route', 'ScopedRoutesDiscoveryService', 'ScopedRoutes',
             'config.route.v3.ScopedRouteConfiguration'),
    'VHDS': ('route', 'VirtualHostDiscoveryService', 'VirtualHosts', 'config.route.v3.VirtualHost'),
    'CDS': ('cluster', 'ClusterDiscoveryService', 'Clusters', 'config.cluster.v3.Cluster'),
    'EDS': ('endpoint', 'EndpointDiscoveryService', 'Endpoints',
            'config.endpoint.v3.ClusterLoadAssignment'),
    'LEDS': ('endpoint', 'LocalityEndpointDiscoveryService', 'LocalityEndpoints',
             'config.endpoint.v3.LbEndpoint'),
    'SDS': ('secret', 'SecretDiscoveryService', 'Secrets',
            'extensions.transport_sockets.tls.v3.Secret'),
    'RTDS': ('runtime', 'RuntimeDiscoveryService', 'Runtime', 'service.runtime.v3.Runtime'),
    'ECDS': ('extension', 'ExtensionConfigDiscoveryService', 'ExtensionConfigs',
             'config.core.v3.TypedExtensionConfig'),
}
DELTA_ALONE = ('VHDS', 'LEDS')
OTHER = 'acme.v1.Thing' # a type that is nobody's
NAME = 'one'


def resource(type_name, mark):
    """As far as a node looks into it: a name in field 1. The mark is in one that no type has."""
    value = bytes((0x0a, len(NAME))) + NAME.encode() + b'\xfa\xff\x03' + bytes((len(mark),)) + \
        mark.encode()
    return any_pb2.Any(type_url=PREFIX + type_name, value=value)


class Bench:
    def __init__(self, address, peer):
        self.address = address
        self.peer = peer

    def publish(self, type_name, mark):
        self.peer.publish([(NAME, resource(type_name, mark))])

    def next_of(self, client, type_name, mark):
        """The next response has this version of this type; it is acknowledged."""
        response = client.receive()
        payloads = [one.resource if client.is_delta else one for one in response.resources]
        client.answer(response)
        if response.type_url != PREFIX + type_name or \
                payloads != [resource(type_name, mark)] or not response.nonce:
            raise interop.Failure(f'{client.method}: {response}')

    def follow(self, client, type_names):
        """What is there, a change of it, and in delta its removal."""
        for type_name in type_names:
            client.send(PREFIX + type_name, [NAME])
            self.next_of(client, type_name, 'first')
        for type_name in type_names:
            self.publish(type_name, 'second')
            self.next_of(client, type_name, 'second')
        for type_name in type_names if client.is_delta else ():
            self.peer.remove(type_name, [NAME])
            response = client.receive()
            client.answer(response)
            if list(response.removed_resources) != [NAME]:
                raise interop.Failure(f'{client.method}: {response}')
        for type_name in type_names:
            self.publish(type_name, 'first')

    def stream(self, method, type_names):
        with Client(self.address, '/Delta' in method, method) as client:
            self.follow(client, type_names)
        interop.check(method, True)

    def fetch(self, method, type_name):
        with grpc.insecure_channel(self.address) as channel:
            call = channel.unary_unary(
                method, request_serializer=discovery_pb2.DiscoveryRequest.SerializeToString,
                response_deserializer=discovery_pb2.DiscoveryResponse.FromString)
            request = discovery_pb2.DiscoveryRequest(resource_names=[NAME])
            response = call(request, timeout=PATIENCE_S)
        interop.check(method, response.type_url == PREFIX + type_name and
                      list(response.resources) == [resource(type_name, 'first')])


def body(test):
    node = interop.Node(test, 'node')
    with Peer(test.build, node.address) as peer:
        bench = Bench(node.address, peer)
        types = ['envoy.' + service[3] for service in SERVICES.values()] + [OTHER]
        for type_name in types:
            bench.publish(type_name, 'first')
        for api, (package, service, what, type_name) in SERVICES.items():
            path = f'/envoy.service.{package}.v3.{service}/'
            bench.stream(f'{path}Delta{what}', ['envoy.' + type_name])
            if api not in DELTA_ALONE:
                bench.stream(f'{path}Stream{what}', ['envoy.' + type_name])
                bench.fetch(f'{path}Fetch{what}', 'envoy.' + type_name)
        for method in METHODS.values():
            bench.stream(method, types)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
