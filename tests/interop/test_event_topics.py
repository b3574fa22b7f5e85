#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients stream to the sinks of a node is read by UDPA subscribers: by udpactl watch, by an
endpoint of the library, and by a stream of a stranger's making, which reads slowly, is told how much
it has missed, and holds up nobody."""
import json
import re
import subprocess
import sys
import threading

import interop

import grpc
from envoy.service.accesslog.v3 import als_pb2, als_pb2_grpc

import udpa_peer
import udpactl

TYPE = 'udpa.event.v1.Event'
RING = 50
# What lies between a node and a client that does not read: the windows of HTTP/2 and of TCP.
SLOW_EVENTS, SLOW_BYTES = 400, 40000
NARROW = [('grpc.http2.lookahead_bytes', 65536), ('grpc.http2.bdp_probe', 0)]
RULES = [
    {'name': 'auditors', 'identities': ['udpactl', 'auditor'], 'actions': ['ADMIN']},
    {'name': 'edges', 'identities': ['edge-1'], 'actions': ['PUBLISH', 'SUBSCRIBE']},
]


class Writer:
    """A stream of access logs that stays; each message has one line."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.semaphore = threading.Semaphore(0)
        self.waiting = []
        self.is_closed = False
        self.call = als_pb2_grpc.AccessLogServiceStub(self.channel).StreamAccessLogs.future(
            self.messages())

    def messages(self):
        first = als_pb2.StreamAccessLogsMessage()
        first.identifier.node.id = 'edge-1'
        first.identifier.log_name = 'ingress'
        yield first
        while True:
            self.semaphore.acquire()
            if self.is_closed:
                return
            yield self.waiting.pop(0)

    def send(self, path):
        message = als_pb2.StreamAccessLogsMessage()
        message.http_logs.log_entry.add().request.path = path
        self.waiting.append(message)
        self.semaphore.release()

    def close(self):
        self.is_closed = True
        self.semaphore.release()
        self.call.result(timeout=60)
        self.channel.close()


def start_node(test, name, **more):
    config = test.work / f'{name}.yaml'
    config.write_text(json.dumps({
        'node': {'id': name}, 'sockets': [{'address': '127.0.0.1:0'}],
        'sinks': [{'kind': 'ACCESS_LOG', 'max_entries': RING}, {'kind': 'TAP'}], **more}),
        encoding='utf-8')
    return interop.Node(test, name, port=None, bootstrap=config)


def topic(node):
    return f'udpa.node/{node}/events/access-log'


def path_of(event):
    return event['message']['httpLogs']['logEntry'][0]['request']['path']


def read_json(process):
    """The next event that udpactl shows, with its resource."""
    shown = json.loads(process.stdout.readline())
    interop.check(f'it is an event: {str(shown)[:200]}', shown['event'] == 'event')
    return shown['resource'], shown['resource']['resource']


def check_watch(test, ctl, node, writer):
    writer.send('/before')
    interop.wait_for('the first one', lambda: 'before' in ctl('events', 'access-log'))
    watch = ctl.start('watch', TYPE, '--namespace', 'udpa.node', '-o', 'json')
    envelope, event = read_json(watch)
    interop.check(f'what is held comes: {event}', path_of(event) == '/before' and
                  event['nodeId'] == 'edge-1' and event['name'] == 'ingress')
    interop.check('as a version of the topic, which the node answers for',
                  envelope['name'] == topic('top') and envelope['version'].endswith('.1') and
                  envelope['originInfo']['authority'] == 'top')
    library = subprocess.Popen([test.build / 'follow', TYPE, 'udpa.node/top', node.address],
                               stdout=subprocess.PIPE, text=True)
    interop.check('an endpoint of the library has it', library.stdout.readline().split()[1:3] ==
                  ['added', topic('top')])
    for i in range(5):
        writer.send(f'/{i}')
        interop.check('then what comes', path_of(read_json(watch)[1]) == f'/{i}')
        line = library.stdout.readline()
        if 'complete' in line:
            line = library.stdout.readline()
        interop.check(f'each one: {line}', line.split()[3].endswith(f'.{i + 2}'))
    for process in (watch, library):
        process.terminate()
        process.communicate(timeout=20)
    table = ctl('get', 'event', '--namespace', 'udpa.node')
    interop.check(f'get has the last one\n{table}', re.search(r'access-log\s.*\.6\b', table))


class SlowReader(udpa_peer.Peer):
    """Reads when it is told to."""

    def __init__(self, *arguments, **more):
        self.may_read = threading.Event()
        super().__init__(*arguments, more_options=NARROW, **more)

    def read(self):
        self.may_read.wait()
        super().read()

    def subscribe(self, namespace):
        message = self.udpa_message()
        message.subscribe.type_url = udpa_peer.PREFIX + TYPE
        message.subscribe.namespace = namespace
        message.subscribe.resource_names.append('*')
        self.outbox.put(message)

    def events(self):
        event = self.schema.message(TYPE)
        while True:
            delta = self.next_message('publish').publish.delta
            for resource in delta.resources:
                if resource.resource.type_url == udpa_peer.PREFIX + TYPE:
                    yield event.FromString(resource.resource.value)


def readers(ctl):
    sinks = json.loads(ctl('status', '-o', 'json'))[0]['resource']['sinks']
    return {key: int(value) for key, value in sinks[0].items() if key != 'kind'}


def check_slow(test, ctl, node, writer):
    watch = ctl.start('watch', TYPE, '--namespace', 'udpa.node', '-o', 'name')
    n_before = 6
    for _ in range(n_before):
        watch.stdout.readline()
    with SlowReader(test.build, node.address, 'slow') as slow:
        slow.subscribe('udpa.node/top/events')
        interop.wait_for('a second reader', lambda: readers(ctl).get('nReaders') == 2)
        for i in range(SLOW_EVENTS):
            writer.send('/slow' + 'x' * SLOW_BYTES)
            watch.stdout.readline() # the other one has each, at once
        status = readers(ctl)
        interop.check(f'the node keeps its ring and no more: {status}', status['nHeld'] <= RING)
        slow.may_read.set()
        sequence, n_lost, n_events = 0, 0, 0
        for event in slow.events():
            if event.sequence != sequence + event.n_lost + 1:
                raise interop.Failure(f'after {sequence}, {event.n_lost} lost, {event.sequence}')
            sequence, n_lost, n_events = event.sequence, n_lost + event.n_lost, n_events + 1
            if sequence == n_before + SLOW_EVENTS:
                break
        print(f'ok: of {SLOW_EVENTS} it has had {n_events} and was told of {n_lost}', flush=True)
        interop.check('it has missed some', n_lost > 0 and n_events + n_lost == sequence)
        interop.wait_for('they are counted', lambda: readers(ctl).get('nMissed') == n_lost)
    watch.terminate()
    watch.communicate(timeout=20)


def check_rules(test):
    node = start_node(test, 'strict', acl={'rules': RULES})
    writer = Writer(node.address)
    writer.send('/secret')
    ctl = udpactl.Ctl(test, node)
    interop.wait_for('it is held', lambda: 'secret' in ctl('events', 'access-log'))
    interop.check('who may see what nodes say of themselves has it',
                  'secret' in ctl('get', 'event', '--namespace', 'udpa.node', '-o', 'json'))
    said = ctl.finish(ctl.start('get', 'event', topic('strict'), '--node-id', 'edge-1'), 1)
    interop.check(f'who may not does not {said}', 'secret' not in said)
    writer.close()


def body(test):
    node = start_node(test, 'top')
    ctl = udpactl.Ctl(test, node)
    writer = Writer(node.address)
    check_watch(test, ctl, node, writer)
    check_slow(test, ctl, node, writer)
    writer.close()
    check_rules(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
