#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The xDS client of gRPC for Java (grpc-xds) resolves a service through a node, calls it, and follows its
endpoints. It reads no resource_errors: what is missing it takes for missing after 15 s, as with any
server, and when it comes it goes on."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import interop
import grpc_service
from udpa_peer import Peer

HERE = pathlib.Path(__file__).resolve().parent / 'java'
# Of the client, before what it has asked for counts as missing.
DOES_NOT_EXIST_MS = 15000
WORDS_OF_THE_NODE = 'there is no such resource'


def run_or_skip(command, **options):
    made = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if made.returncode != 0:
        interop.skip(f'{command[0]}: {(made.stdout + made.stderr).strip()[-600:]}')


def tools_or_skip(*names):
    tools = {name: shutil.which(name) for name in names}
    if not all(tools.values()):
        interop.skip(f'of {", ".join(tools)} not all are on PATH')
    return tools


def libraries_or_skip(out):
    """The folder with what a client needs: fetched if it is not there or the list has changed."""
    tools = tools_or_skip('java', 'mvn')
    out.mkdir(exist_ok=True)
    stamp, libraries = out / 'installed', out / 'lib'
    wanted = (HERE / 'pom.xml').read_bytes()
    with interop.alone('java-libraries'):
        if not stamp.exists() or stamp.read_bytes() != wanted:
            shutil.rmtree(libraries, ignore_errors=True)
            run_or_skip([tools['mvn'], '-q', '-B', '-f', HERE / 'pom.xml', 'dependency:copy-dependencies',
                         f'-DoutputDirectory={libraries}'])
            stamp.write_bytes(wanted)
    return libraries


def client_or_skip(out):
    """The command that runs the client."""
    tools = tools_or_skip('java', 'javac')
    libraries = libraries_or_skip(out)
    run_or_skip([tools['javac'], '-cp', f'{libraries}/*', '-d', out / 'classes', HERE / 'Client.java'])
    return [tools['java'], '-cp', f'{out / "classes"}:{libraries}/*', 'Client']


def body(test):
    command = client_or_skip(test.build / 'grpc-java-client')
    config = test.work / 'node.yaml'
    config.write_text(json.dumps({'shim': {'resource_errors': True}}), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    bootstrap = test.work / 'bootstrap.json'
    bootstrap.write_text(grpc_service.bootstrap(node.address), encoding='utf-8')
    os.environ['GRPC_XDS_BOOTSTRAP'] = str(bootstrap)
    client = interop.Process([*command, f'xds:///{grpc_service.NAME}'], test.work / 'client.log')
    test.processes.append(client)
    ports = [int(port) for port in client.wait_for_log('backends ').split()[1:]]
    resources = grpc_service.resources(ports[0])
    with Peer(test.build, node.address) as peer:
        peer.publish([one for one in resources if one[0] != grpc_service.ROUTE])
        failed = client.wait_for_log('failed ')
        took_ms = int(failed.split()[1])
        interop.check(f'without a route a call fails after {took_ms / 1000:.1f} s: {failed}',
                      took_ms > DOES_NOT_EXIST_MS * 0.9 and WORDS_OF_THE_NODE not in failed)
        for what, port in zip(('first', 'second'), ports):
            peer.publish(grpc_service.resources(port))
            client.wait_for_log(f'answer {port}')
            interop.check(f'the {what} backend answers after its endpoint was published', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
