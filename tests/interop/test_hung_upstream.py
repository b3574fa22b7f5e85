#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An upstream that hangs (SIGSTOP: its connections stay, and nothing answers on them) is noticed within
about ten seconds: by nodes that dial it, with workers and without, and by one that it dials. When it goes
on, all of them have it back."""
import json
import signal
import sys
import time

import interop

TYPE = 'envoy.config.cluster.v3.Cluster'
NOTICED_S = 15 # two times 5 s, on a machine that has other things to do


def bootstrap(test, name, content):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps(content), encoding='utf-8')
    return path


def edge(test, name, source, port=0, **more):
    content = {
        'static_resources': {'config_sources': [{'name': 'core', **source}]},
        'providers': [{'types': [TYPE], 'config_descriptors': [{'resource_name': 'core'}]}],
        **more,
    }
    return interop.Node(test, name, port, bootstrap(test, name, content))


def count(node, words):
    return node.text().count(words)


def body(test):
    core_port, dialled_port = interop.free_ports(2)
    core = interop.Node(test, 'core', core_port, bootstrap(test, 'core', {
        'dial': [{'name': 'dialled', 'address': f'127.0.0.1:{dialled_port}'}]}))
    there = {'udpa': {'address': core.address}}
    edges = [
        edge(test, 'plain', there),
        edge(test, 'workers', there, workers=2),
        edge(test, 'dialled', {'udpa_listen': {'peer': 'core'}}, dialled_port),
    ]
    for node in edges:
        node.wait_for_log('source core: connected')
    # Nobody is taken for dead while it lives, however little there is to say.
    time.sleep(1)
    before = [count(node, 'source core:') for node in edges]

    began = time.monotonic()
    core.process.send_signal(signal.SIGSTOP)
    try:
        for node, n in zip(edges, before):
            interop.wait_for(f'{node.name} notices that core hangs',
                             lambda node=node, n=n: count(node, 'source core:') > n, 60)
            took = time.monotonic() - began
            interop.check(f'{node.name}: noticed within {NOTICED_S} s ({took:.1f} s)',
                          took < NOTICED_S)
    finally:
        core.process.send_signal(signal.SIGCONT)
    for node, n in zip(edges, before):
        interop.wait_for(f'{node.name} has core back',
                         lambda node=node: count(node, 'source core: connected') > 1, 60)
    interop.check('all have it back', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
