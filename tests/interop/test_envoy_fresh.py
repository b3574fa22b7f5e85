#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A new Envoy in the state of the world gets its clusters though a source of the node is dead."""
import subprocess
import sys
import time

import interop
import envoy_peer
from interop import check, wait_for
from udpa_peer import Peer

TIMEOUT_S = 6
BOOTSTRAP = '''
static_resources:
  config_sources:
  - name: uaas
    udpa: {address: "%s"}
  - name: legacy
    udpa: {address: "127.0.0.1:1"}
providers:
- config_descriptors:
  - {resource_name: uaas, namespace: local, continuation: CONTINUE}
  - {resource_name: legacy, namespace: local, continuation: CONTINUE}
timing: {first_answer_timeout: %ds}
'''


def clients(test, node):
    return subprocess.run([test.build / 'udpactl', '--server', node.address, 'clients'], text=True,
                          capture_output=True, check=False, timeout=20).stdout


def body(test):
    binary = interop.envoy_or_skip()
    uaas = interop.Node(test, 'uaas')
    bootstrap = test.work / 'edge.yaml'
    bootstrap.write_text(BOOTSTRAP % (uaas.address, TIMEOUT_S), encoding='utf-8')
    node = interop.Node(test, 'edge', bootstrap=bootstrap)
    with Peer(test.build, uaas.address) as peer:
        peer.publish([('one', envoy_peer.static_cluster('one'))])
        begin = time.monotonic()
        envoy = envoy_peer.Envoy(test, binary, node.port)
        wait_for('the cluster', lambda: envoy.clusters() == {'one'})
        took = time.monotonic() - begin
        check(f'it has the cluster that is known after {took:.1f} s', took < TIMEOUT_S + 5)
        check('the node says what is missing',
              wait_for('pending', lambda: 'pending: legacy not connected' in clients(test, node)))
        peer.publish([('two', envoy_peer.static_cluster('two'))])
        wait_for('what is added', lambda: envoy.clusters() == {'one', 'two'})
        begin = time.monotonic()
        late = envoy_peer.Envoy(test, binary, node.port, name='late')
        wait_for('the clusters of a late one', lambda: late.clusters() == {'one', 'two'})
        check('who comes later does not wait', time.monotonic() - begin < TIMEOUT_S + 3)
    node.wait_for_log('source legacy is not connected')


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('sotw',)))
