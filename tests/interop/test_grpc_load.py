#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gRPC's own xDS clients report load to the server that their cluster names (lrs_server: self): the
counts are those of the calls that were made, to the call.

Variants: gRPC for Go, and C core in Python; each asked for what it reports, or for the sum of the node.
"""
import json
import sys

import interop
import grpc_clients
import grpc_service
from google.protobuf import json_format
from envoy.config.cluster.v3 import cluster_pb2
from interop import check, wait_for
from test_envoy_load import LOAD, SUM, loads
from udpa_peer import Peer, sessions
from udpactl import Ctl

N_CALLS = 137
CLUSTER = f'local/{grpc_service.CLUSTER}'


def resources(port):
    """The cluster says whom its load is reported to."""
    for name, message in grpc_service.resources(port):
        if isinstance(message, cluster_pb2.Cluster):
            message.lrs_server.self.SetInParent()
        yield name, message


def counts(load):
    """Calls of all localities: successful, failed, issued, in progress."""
    requests = [locality.get('requests', {}) for locality in (load or {}).get('localities', [])]
    return tuple(sum(int(of_one.get(name, 0)) for of_one in requests)
                 for name in ('successful', 'error', 'issued', 'inProgress'))


def wait_for_counts(ctl, kind, reporter, wanted):
    found = []

    def look():
        found[:] = [counts(loads(ctl, kind).get(f'{CLUSTER}/{reporter}'))]
        return found[0] == wanted
    try:
        wait_for(f'{wanted} by {reporter}', look)
    except interop.Failure as failure:
        raise interop.Failure(f'{failure}: the last was {found[0]}') from None
    print(f'ok: {wanted} by {reporter}', flush=True)


def reporting(test, node):
    return next((session.load_reporting for session in sessions(test.build, node.address)
                 if session.protocol == 'lrs'), None)


def body(test):
    config = test.work / 'node.yaml'
    config.write_text(json.dumps({'load_reporting': {'interval': '0.5s'},
                                  'timing': {'interest_linger': '0.2s'}}), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    ctl = Ctl(test, node)
    grpc_clients.use(node.address)
    language, _, is_sum = test.variant.partition('_')
    kind, reporter = (SUM, 'node') if is_sum else (LOAD, 'grpc-client')
    client = grpc_clients.CLIENTS[language](test, True)
    try:
        with Peer(test.build, node.address) as peer:
            peer.publish(resources(client.ports[0]))
        client.make_calls(1)
        wait_for('the LRS stream of the client', lambda: reporting(test, node))
        watch = ctl.start('watch', kind, '-o', 'json')
        wait_for('the client to be asked', lambda: (asked := reporting(test, node)) and
                 (asked.all_clusters or asked.clusters))
        client.make_calls(N_CALLS)
        wait_for_counts(ctl, kind, reporter, (N_CALLS + 1, 0, N_CALLS + 1, 0))
        client.make_calls(3 * N_CALLS)
        wait_for_counts(ctl, kind, reporter, (4 * N_CALLS + 1, 0, 4 * N_CALLS + 1, 0))
        said = reporting(test, node)
        check(f'nothing was refused: {said}', said.n_refused == 0)
        watch.terminate()
        shown = [json.loads(line) for line in watch.communicate(
            timeout=interop.STOP_PATIENCE_S)[0].splitlines()]
        check(f'udpactl watch has seen {len(shown)} changes', len(shown) >= 2)
    finally:
        client.close()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('go', 'go_sum', 'python', 'python_sum')))
