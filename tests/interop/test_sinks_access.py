#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node with sinks and rules, and peers with certificates: who may stream is written under the name
in his certificate, who may look sees it, and others are told which rule stands in the way, also those
whose rule goes while they stream."""
import copy
import json
import signal
import subprocess
import sys
import threading

import interop

import grpc
from envoy.service.accesslog.v3 import als_pb2, als_pb2_grpc

import udpactl

TYPE = 'envoy.service.accesslog.v3.StreamAccessLogsMessage'
RULES = [
    {'name': 'edges', 'identities': ['spiffe://acme.test/edge/*'], 'actions': ['PUBLISH'],
     'types': [TYPE]},
    {'name': 'importer', 'identities': ['importer'], 'actions': ['PUBLISH'],
     'namespaces': ['bank.acme']},
    {'name': 'audit', 'identities': ['auditor'], 'actions': ['ADMIN']},
]


class Bed:
    def __init__(self, test):
        self.test = test
        self.folder = test.work / 'certificates'
        for name, *more in (('node',), ('edge-1', '--uri', 'spiffe://acme.test/edge/1'),
                            ('importer',), ('auditor',)):
            subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', self.folder, name,
                            *more], check=True, capture_output=True)
        self.file = test.work / 'access.jsonl'
        self.config = {
            'sockets': [{'address': '127.0.0.1:0', 'tls': {
                'certificate_file': str(self.folder / 'node.crt'),
                'private_key_file': str(self.folder / 'node.key'),
                'client_ca_file': str(self.folder / 'ca.crt')}}],
            'descriptor_sets': [str(udpactl.descriptors(test))],
            'sinks': [{'kind': 'ACCESS_LOG', 'file': {'path': str(self.file)}}],
            'acl': {'rules': copy.deepcopy(RULES)},
        }
        self.path = test.work / 'node.yaml'
        self.write()
        self.node = interop.Node(test, 'node', None, self.path)

    def write(self):
        self.path.write_text(json.dumps(self.config), encoding='utf-8')

    def channel(self, who):
        def read(name):
            return (self.folder / name).read_bytes()
        return grpc.secure_channel(self.node.address, grpc.ssl_channel_credentials(
            read('ca.crt'), read(f'{who}.key'), read(f'{who}.crt')))

    def events(self, who, kind='access-log'):
        done = subprocess.run(
            [self.test.build / 'udpactl', '--server', self.node.address,
             '--descriptors', udpactl.descriptors(self.test), '--ca', self.folder / 'ca.crt',
             '--cert', self.folder / f'{who}.crt', '--key', self.folder / f'{who}.key',
             'events', kind], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def lines(self):
        return [json.loads(line) for line in self.file.read_text(encoding='utf-8').splitlines()] \
            if self.file.exists() else []


def message(path):
    made = als_pb2.StreamAccessLogsMessage()
    made.identifier.node.id = 'whatever it says'
    made.identifier.log_name = 'ingress'
    made.http_logs.log_entry.add().request.path = path
    return made


def stream(bed, who, messages):
    """None, or why it was ended."""
    with bed.channel(who) as channel:
        try:
            als_pb2_grpc.AccessLogServiceStub(channel).StreamAccessLogs(messages, timeout=30)
        except grpc.RpcError as error:
            return error
    return None


def check_who_may_stream(bed):
    interop.check('who has a rule streams', stream(bed, 'edge-1', iter([message('/a')])) is None)
    interop.wait_for('it is written under the name in his certificate', lambda: [
        (line['identity'], line['node'], line['entry']['request']['path'])
        for line in bed.lines()] == [('edge-1', 'whatever it says', '/a')])
    error = stream(bed, 'importer', iter([message('/b')]))
    interop.check(f'who has another does not, and is told why: {error.details()}',
                  error.code() == grpc.StatusCode.PERMISSION_DENIED and
                  "rule 'importer', the nearest, is for other namespaces" in error.details())


def check_who_may_look(bed):
    status, said = bed.events('auditor')
    interop.check(f'who may see what nodes say looks\n{said}', status == 0 and '"/a"' in said)
    status, said = bed.events('edge-1')
    interop.check(f'who streams does not\n{said}', status == 1 and
                  "rule 'edges', the nearest, is for other actions" in said)
    status, said = bed.events('auditor', 'tap')
    interop.check(f'what is not configured is told\n{said}',
                  status == 1 and 'has access-log' in said)


def check_rules_that_go(bed):
    """While the stream is open; it sends its next message when the test says so."""
    may_end = threading.Event()
    found = []

    def messages():
        yield message('/c')
        may_end.wait(60)

    thread = threading.Thread(target=lambda: found.append(stream(bed, 'edge-1', messages())))
    thread.start()
    interop.wait_for('a stream', lambda: any(
        line['entry']['request']['path'] == '/c' for line in bed.lines()))
    del bed.config['acl']['rules'][0]
    bed.write()
    bed.node.process.send_signal(signal.SIGHUP)
    interop.wait_for('the end of whose rule has gone', lambda: found)
    may_end.set()
    thread.join()
    interop.check(f'with words: {found[0].details()}',
                  found[0].code() == grpc.StatusCode.PERMISSION_DENIED and
                  'no rule' in found[0].details())


def body(test):
    bed = Bed(test)
    check_who_may_stream(bed)
    check_who_may_look(bed)
    check_rules_that_go(bed)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
