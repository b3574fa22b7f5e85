#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A changed cluster with EDS is used at once: its endpoints go out again behind it, though they
have not changed. Without them Envoy holds the new cluster back for 15 s. The same when it changes
while Envoy is away."""
import sys
import time

import interop
import envoy_peer
from gate import Gate
from udpa_peer import Peer

BOUND_S = 2
N_CHANGES = 3
RECONNECTION_S = 5 # Envoy waits longer each time


def change_while_away(test, peer, envoy, gate):
    n = envoy.stat('cluster.other.update_success')
    for i in range(N_CHANGES):
        gate.close()
        timeout = f'{12 + i}s'
        peer.publish([('backend', envoy_peer.eds_cluster('backend', timeout))])
        gate.open()
        begin = time.monotonic()
        envoy.wait_for_timeout('backend', timeout)
        took = time.monotonic() - begin
        interop.check(f'change {i + 1} while Envoy is away is used after {took:.2f} s',
                      took < RECONNECTION_S)
    if test.variant == 'delta':
        interop.check('endpoints that nobody waits for did not come again',
                      envoy.stat('cluster.other.update_success') == n)


def body(test):
    binary = interop.envoy_or_skip()
    node = interop.Node(test, 'node')
    names = ['backend', 'other']
    with Peer(test.build, node.address) as peer:
        peer.publish((name, envoy_peer.eds_cluster(name)) for name in names)
        peer.publish((name, envoy_peer.assignment(name)) for name in names)
        gate = Gate(node.port)
        envoy = envoy_peer.Envoy(test, binary, gate.port)
        begin = time.monotonic()
        envoy.wait_for_clusters(names)
        took = time.monotonic() - begin
        interop.check(f'both clusters are used after {took:.2f} s', took < BOUND_S)
        for i in range(N_CHANGES):
            timeout = f'{2 + i}s'
            begin = time.monotonic()
            peer.publish([('backend', envoy_peer.eds_cluster('backend', timeout))])
            envoy.wait_for_timeout('backend', timeout)
            took = time.monotonic() - begin
            interop.check(f'change {i + 1} is used after {took:.2f} s', took < BOUND_S)
            interop.check('no cluster warms',
                          envoy.stat('cluster_manager.warming_clusters') in (0, None))
        change_while_away(test, peer, envoy, gate)
        interop.check('the cluster beside it stayed as it was',
                      envoy.active_clusters()['other']['connect_timeout'] == '1s')
        interop.check('Envoy never gave up waiting for endpoints',
                      not envoy.stat('cluster.backend.init_fetch_timeout'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
