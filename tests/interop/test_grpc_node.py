#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The xDS client of gRPC for Node.js (@grpc/grpc-js-xds) resolves a service through a node, calls it,
and follows its endpoints."""
import os
import pathlib
import shutil
import subprocess
import sys

import interop
import grpc_service
from udpa_peer import Peer

HERE = pathlib.Path(__file__).resolve().parent / 'node'
LISTS = ('package.json', 'package-lock.json')


def node_and_packages_or_skip(out):
    """(node, a folder for NODE_PATH): the packages of the list, which are installed if they are not
    there or the list has changed."""
    node, npm = shutil.which('node'), shutil.which('npm')
    if not node or not npm:
        interop.skip('there is no node or no npm on PATH')
    out.mkdir(exist_ok=True)
    stamp = out / 'installed'
    wanted = (HERE / LISTS[1]).read_bytes()
    with interop.alone('node-packages'):
        if not stamp.exists() or stamp.read_bytes() != wanted:
            for name in LISTS:
                shutil.copy(HERE / name, out)
            made = subprocess.run([npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd=out,
                                  text=True, capture_output=True, check=False)
            if made.returncode != 0:
                interop.skip(f'the packages cannot be installed: {made.stderr.strip()[-600:]}')
            stamp.write_bytes(wanted)
    return node, out / 'node_modules'


def body(test):
    program, packages = node_and_packages_or_skip(test.build / 'grpc-node-client')
    node = interop.Node(test, 'node')
    os.environ['NODE_PATH'] = str(packages)
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(node.address)
    client = interop.Process([program, HERE / 'client.js', f'xds:///{grpc_service.NAME}'],
                             test.work / 'client.log')
    test.processes.append(client)
    ports = [int(port) for port in client.wait_for_log('backends ').split()[1:]]
    with Peer(test.build, node.address) as peer:
        for what, port in zip(('first', 'second'), ports):
            peer.publish(grpc_service.resources(port))
            client.wait_for_log(f'answer {port}')
            interop.check(f'the {what} backend answers after its endpoint was published', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
