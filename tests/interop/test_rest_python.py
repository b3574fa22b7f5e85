#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of httpx has REST by HTTP/2, which is chosen by ALPN, with certificates on both sides: many
requests at a time on one connection, which are held until there is a change."""
import asyncio
import json
import ssl
import subprocess
import sys

import interop
import httpx

N_POLLS = 100
PATIENCE_S = 60
STRING = 'type.googleapis.com/google.protobuf.StringValue'


def publish(test, node, text):
    path = test.work / 'one.yaml'
    path.write_text(f'name: one\nresource:\n  "@type": {STRING}\n  value: {text}\n')
    subprocess.run([test.build / 'udpactl', '--server', node.address, 'apply', '-f', path],
                   check=True, stdout=subprocess.DEVNULL)


def start_node(test, folder):
    for name in ('node', 'client'):
        subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', folder, name],
                       check=True, capture_output=True)
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(json.dumps({'http': {'sockets': [{
        'address': '127.0.0.1:0', 'tls': {'certificate_file': str(folder / 'node.crt'),
                                          'private_key_file': str(folder / 'node.key'),
                                          'client_ca_file': str(folder / 'ca.crt')}}]}}))
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    line = next(line for line in node.text().splitlines() if 'over REST' in line)
    port = line.split('listening on ')[1].split()[0].rsplit(':', 1)[1]
    return node, f'https://localhost:{port}/v1/udpa:resources'


def n_held(test, node):
    told = subprocess.run([test.build / 'udpactl', '--server', node.address, 'status'],
                          capture_output=True, text=True, check=False).stdout
    return told.count('udpa-rest')


class Client:
    """httpx, and how many connections it has made."""

    def __init__(self, folder, url, **versions):
        context = ssl.create_default_context(cafile=folder / 'ca.crt')
        context.load_cert_chain(folder / 'client.crt', folder / 'client.key')
        self.n_connections = 0
        self.url = url
        self.client = httpx.AsyncClient(verify=context, timeout=PATIENCE_S, **versions,
                                        limits=httpx.Limits(max_connections=1))

    async def trace(self, event, _):
        self.n_connections += event == 'connection.connect_tcp.complete'

    async def post(self, version='', **headers):
        return await self.client.post(self.url, json={'type_url': STRING, 'version': version},
                                      headers=headers, extensions={'trace': self.trace})


async def talk(test, node, folder, url):
    async with (old := Client(folder, url)).client:
        answer = await old.post()
        interop.check('who offers HTTP/1.1 alone has that', answer.http_version == 'HTTP/1.1' and
                      answer.status_code == 200)
    async with (client := Client(folder, url, http2=True)).client:
        first = await client.post()
        interop.check('who offers both has HTTP/2', first.http_version == 'HTTP/2' and
                      first.status_code == 200)
        version = first.json()['version']
        answers = await asyncio.gather(*[client.post(version, prefer='wait=1')
                                         for _ in range(N_POLLS)])
        interop.check('nothing has changed, all are told',
                      {answer.status_code for answer in answers} == {304})
        held = [asyncio.create_task(client.post(version)) for _ in range(N_POLLS)]
        while await asyncio.to_thread(n_held, test, node) < N_POLLS:
            interop.check('none is answered yet', not any(task.done() for task in held))
        await asyncio.to_thread(publish, test, node, 'second')
        answers = await asyncio.wait_for(asyncio.gather(*held), PATIENCE_S)
        interop.check('a change is told to all', all(
            answer.json()['resources'][0]['resource']['value'] == 'second' for answer in answers))
        interop.check('all on one connection', client.n_connections == 1)


def body(test):
    folder = test.work / 'certificates'
    node, url = start_node(test, folder)
    publish(test, node, 'first')
    asyncio.run(asyncio.wait_for(talk(test, node, folder, url), 2 * PATIENCE_S))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
