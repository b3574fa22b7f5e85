#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The xDS client of gRPC for Go resolves a service through a node, calls it, and follows its
endpoints."""
import os
import pathlib
import sys

import interop
import grpc_service
from udpa_peer import Peer

HERE = pathlib.Path(__file__).resolve().parent


def body(test):
    program = interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-client')
    node = interop.Node(test, 'node')
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(node.address)
    client = interop.Process([program, '-target', f'xds:///{grpc_service.NAME}'],
                             test.work / 'client.log')
    test.processes.append(client)
    ports = [int(port) for port in client.wait_for_log('backends ').split()[1:]]
    with Peer(test.build, node.address) as peer:
        for what, port in zip(('first', 'second'), ports):
            peer.publish(grpc_service.resources(port))
            client.wait_for_log(f'answer 127.0.0.1:{port} SERVING')
            interop.check(f'the {what} backend answers after its endpoint was published', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
