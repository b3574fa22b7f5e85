#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is asked wrongly is refused with the right status and a sentence that helps, and the stream
beside it is served on."""
import sys

import interop
import grpc
import envoy_peer
from udpa_peer import Peer
from xds_peer import ADS, CLUSTER, ENDPOINTS, METHODS, Client, Watcher

BOUND_S = 2
LARGE = 5 * 1024 * 1024
V3 = '/envoy.service.'
INVALID = grpc.StatusCode.INVALID_ARGUMENT
BOTH_TYPES = ('ClusterLoadAssignment', 'envoy.config.cluster.v3.Cluster')
# What, the method, the request, the status, and what the sentence must say.
CASES = (
    ('endpoints and not clusters, delta', V3 + 'endpoint.v3.EndpointDiscoveryService/DeltaEndpoints',
     {'type_url': CLUSTER}, INVALID, BOTH_TYPES),
    ('clusters and not endpoints, SotW', V3 + 'cluster.v3.ClusterDiscoveryService/StreamClusters',
     {'type_url': ENDPOINTS}, INVALID, BOTH_TYPES),
    ('ADS without a type, delta', METHODS[True], {'type_url': ''}, INVALID, ('type_url',)),
    ('ADS without a type, SotW', METHODS[False], {'type_url': ''}, INVALID, ('type_url',)),
    ('bytes without sense', METHODS[True], b'\x0a\x7f', INVALID, ('malformed',)),
    ('a request above the limit', METHODS[True], {'type_url': CLUSTER, 'names': ['x' * LARGE]},
     grpc.StatusCode.RESOURCE_EXHAUSTED, ()),
    ('a method of version 2', '/envoy.api.v2.ClusterDiscoveryService/StreamClusters',
     {'type_url': CLUSTER}, grpc.StatusCode.UNIMPLEMENTED, ('transport_api_version',)),
    ('a method that is not there', ADS + 'Sing', {'type_url': CLUSTER},
     grpc.StatusCode.UNIMPLEMENTED, ('Sing',)),
)


def body(test):
    node = interop.Node(test, 'node')
    with Peer(test.build, node.address) as peer:
        watcher = Watcher(node.address)
        for i, (what, method, request, code, words) in enumerate(CASES):
            with Client(node.address, 'Delta' in method, method) as client:
                if isinstance(request, bytes):
                    client.outbox.put(request)
                else:
                    client.send(**request)
                status, sentence = client.status()
            interop.check(f'{what}: {status.name}: {sentence[:200]}',
                          status == code and sentence and
                          all(word in sentence for word in words))
            peer.publish([('other', envoy_peer.static_cluster('other', f'{i + 1}.5s'))])
            mark = envoy_peer.static_cluster('other', f'{i + 1}.5s').SerializeToString()
            interop.check('the stream beside it is served',
                          watcher.wait_for(mark, BOUND_S) < BOUND_S)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
