#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of the state of the world that waits for a directory of which one file has a mistake:
udpactl clients says which file it is, and it is served when that is mended."""
import subprocess
import sys

import interop
from interop import check, wait_for
from xds_peer import CLUSTER, Client

GOOD = '''"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: %s
connect_timeout: 1s
'''


def body(test):
    files = test.work / 'files'
    files.mkdir()
    (files / 'a.yaml').write_text(GOOD % 'a', encoding='utf-8')
    (files / 'b.yaml').write_text('name: [\n', encoding='utf-8')
    (files / 'c.yaml').write_text('name: [\n', encoding='utf-8')
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(f'static_resources: {{directories: [{{path: {files}}}]}}\n', encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=bootstrap)

    def clients():
        return subprocess.run([test.build / 'udpactl', '--server', node.address, 'clients'], text=True,
                              capture_output=True, check=False, timeout=20).stdout

    def is_told(name):
        return f'pending: {files / name} not read without an error' in clients()

    with Client(node.address, is_delta=False) as client:
        client.send(CLUSTER)
        wait_for('the first file with a mistake', lambda: is_told('b.yaml'))
        check('it is not said to be synchronized', 'yes' not in clients())
        (files / 'b.yaml').write_text(GOOD % 'b', encoding='utf-8')
        wait_for('the next one, when that is mended', lambda: is_told('c.yaml'))
        (files / 'c.yaml').write_text(GOOD % 'c', encoding='utf-8')
        check('all is served when both are', len(client.receive().resources) == 3)
        wait_for('nothing is pending', lambda: 'pending' not in clients())


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
