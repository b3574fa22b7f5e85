#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client with a stream for each name, as Envoy has without ADS, whose Node has 64 KiB, as Envoy's with
all its extensions: its streams share a connection, and each is answered at once, though many of them
are idle."""
import sys
import time

import interop
from interop import check
from xds_peer import CLUSTER, Client

# As many begin at once: Envoy has all its clusters' endpoints, then its listeners' routes, and so on.
WAVES = (6, 8, 2, 8, 4)
NODE_BYTES = 64500
PROMPT_S = 5


def begin(node, first):
    client = Client(node.address, beside=first)
    request = client.request(type_url=CLUSTER, resource_names_subscribe=['nowhere'])
    request.node.id = 'large'
    request.node.metadata['padding'] = 'x' * NODE_BYTES
    client.outbox.put(request)
    return client


def body(test):
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text('shim: {namespaces: [com.acme]}\n', encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    for attempt in range(10):
        clients, longest = [], 0
        for wave in WAVES:
            new = []
            started = time.monotonic()
            for _ in range(wave):
                new.append(begin(node, clients[0] if clients else new[0] if new else None))
            for client in new:
                client.receive()
            longest = max(longest, time.monotonic() - started)
            clients += new
        check(f'attempt {attempt}: {len(clients)} streams are answered, each within {longest:.2f} s',
              longest < PROMPT_S)
        for client in clients[::-1]:
            client.__exit__()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
