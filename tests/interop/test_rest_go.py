#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of Go's net/http has REST by HTTP/2: many requests at a time on one connection, bodies of
unknown length, requests that are given up; with certificates on both sides, or without TLS."""
import json
import pathlib
import subprocess
import sys

import interop

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 60
STRING = 'type.googleapis.com/google.protobuf.StringValue'


def certificates(test):
    folder = test.work / 'certificates'
    for name in ('node', 'client'):
        subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', folder, name],
                       check=True, capture_output=True)
    return folder


def publish(test, node, text):
    path = test.work / 'one.yaml'
    path.write_text(f'name: one\nresource:\n  "@type": {STRING}\n  value: {text}\n')
    subprocess.run([test.build / 'udpactl', '--server', node.address, 'apply', '-f', path],
                   check=True, stdout=subprocess.DEVNULL)


def body(test):
    program = interop.go_program_or_skip(HERE / 'go-http', test.build / 'rest-go-client')
    socket, arguments = {'address': '127.0.0.1:0'}, []
    if test.variant == 'tls':
        folder = certificates(test)
        socket['tls'] = {'certificate_file': str(folder / 'node.crt'),
                         'private_key_file': str(folder / 'node.key'),
                         'client_ca_file': str(folder / 'ca.crt')}
        arguments = ['-ca', folder / 'ca.crt', '-cert', folder / 'client.crt',
                     '-key', folder / 'client.key']
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(json.dumps({'http': {'sockets': [socket]}}))
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    line = next(line for line in node.text().splitlines() if 'over REST' in line)
    address = line.split('listening on ')[1].split()[0]
    publish(test, node, 'first')
    scheme = 'https' if test.variant == 'tls' else 'http'
    client = interop.Process([str(part) for part in (
        program, '-url', f'{scheme}://{address}/v1/udpa:resources', '-type', STRING, *arguments)],
        test.work / 'client.log')
    test.processes.append(client)
    for words in ('answered by HTTP/2', 'unknown length is taken', 'all are told',
                  'leave the others alone', 'all were sent'):
        interop.check(client.wait_for_log(words), True)
    publish(test, node, 'second')
    status = client.process.wait(PATIENCE_S)
    for words in ('a change was told to all', 'all on one connection'):
        interop.check(words, status == 0 and words in client.text())


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('plain', 'tls')))
