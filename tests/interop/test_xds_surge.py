#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that were idle begin large messages, all at once, and never end them: what of that is in memory
is bounded, some of them are ended and told why, and a client beside them is served. Who then comes with a
large first message gets room, since those that stopped half way are ended."""
import contextlib
import threading
import time

import interop
from raw_grpc import Call, Ended
from xds_peer import CLUSTER, Client, discovery_pb2

MIB = 1 << 20
N_CLIENTS = 24
ROOM = 256 * MIB
MESSAGE, SENT = 62 * MIB, 60 * MIB
# Twice what is set aside for messages; and what comes while nobody looks.
MEMORY_MAX = 2 * ROOM + 300 * MIB
KEPT_BY_SANITIZERS = 512 * MIB # of what was freed
SETTLED_S = 3
STALLED_S = 10
N_NAMES = 50000
PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'


class Sender:
    """Begins to say much when it is told to go, and never ends."""

    def __init__(self, call, go):
        self.call, self.go = call, go
        self.ended = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        self.go.wait()
        try:
            self.call.begin_message(MESSAGE)
            self.call.send(bytes(SENT))
            while True:
                self.call.read()
        except (interop.Failure, OSError, ValueError) as error: # the latter: closed meanwhile
            self.ended = error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call.__exit__()


def make_idle(address, go):
    """It has asked for something, and was answered."""
    call = Call(address, PATH)
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER)
    request.node.id = 'idle'
    call.say(request.SerializeToString())
    call.hear()
    return Sender(call, go)


def memory(node, field):
    with open(f'/proc/{node.process.pid}/status', encoding='ascii') as status:
        return int(next(line for line in status if line.startswith(field)).split()[1]) * 1024


def answer_s(address):
    begin = time.monotonic()
    with Client(address, node_id='beside') as client:
        client.send(CLUSTER)
        client.receive()
    return time.monotonic() - begin


def come_with_much(address):
    """A first message that has to wait for room."""
    names = [f'{i:06}'.ljust(100, 'n') for i in range(N_NAMES)]
    request = discovery_pb2.DeltaDiscoveryRequest(
        type_url=CLUSTER, resource_names_subscribe=['*'],
        initial_resource_versions=dict.fromkeys(names, '1'))
    request.node.id = 'late'
    begin = time.monotonic()
    with Call(address, PATH) as late:
        late.say(request.SerializeToString())
        late.hear()
    return time.monotonic() - begin


def n_left_in_the_end(idle):
    """Those that are not ended, when no more have been for a second."""
    seen, since = None, time.monotonic()

    def has_come_to_rest():
        nonlocal seen, since
        left = sum(one.ended is None for one in idle)
        if left != seen:
            seen, since = left, time.monotonic()
        return time.monotonic() > since + 1
    interop.wait_for('no more of them to be ended', has_come_to_rest)
    return seen


def body(test):
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(f"sockets: [{{address: '127.0.0.1:0', max_message_bytes: {64 * MIB}}}]\n")
    node = interop.Node(test, 'node', port=None, bootstrap=bootstrap)
    go = threading.Event()
    with contextlib.ExitStack() as stack, Client(node.address, node_id='steady') as steady:
        steady.send(CLUSTER)
        steady.receive()
        idle = [stack.enter_context(make_idle(node.address, go)) for _ in range(N_CLIENTS)]
        before = memory(node, 'VmRSS')
        go.set()
        interop.wait_for('somebody is ended', lambda: any(one.ended for one in idle))
        waits = []
        end = time.monotonic() + SETTLED_S
        while time.monotonic() < end:
            waits.append(answer_s(node.address))
        ended = [one.ended for one in idle if one.ended]
        grown = memory(node, 'VmHWM') - before
        print(f'{len(ended)} of {N_CLIENTS} were ended; memory grew by {grown / MIB:.0f} MiB at most; '
              f'a client beside them waited {max(waits):.2f} s at most')
        most = MEMORY_MAX + KEPT_BY_SANITIZERS * interop.is_instrumented(test.build)
        interop.check('what has come of unfinished messages is bounded', grown < most)
        interop.check('those who had room go on',
                      all(isinstance(one, Ended) for one in ended) and len(ended) < N_CLIENTS - 4)
        interop.check('who beside them has little to say is served', max(waits) < 3)
        interop.check('the log says why', any(why in node.text() for why in (
            'too much is sent to this node at once', 'nothing of a message has come for 10 seconds')))
        interop.wait_for('of those who have stopped some are ended', lambda: any(one.ended for one in idle) and
                         'nothing of a message has come' in node.text(), 3 * STALLED_S)
        left = n_left_in_the_end(idle)
        interop.check(f'as many as there is room for go on: {left}', left >= ROOM // MESSAGE)
        took = come_with_much(node.address)
        interop.check(f'who comes then with much to say is answered after {took:.1f} s',
                      took < 3 * STALLED_S)
        steady.send(CLUSTER, ['absent'])
        interop.check('who was there before is there still',
                      'absent' in steady.receive().removed_resources)
    node.stop()


if __name__ == '__main__':
    import sys
    sys.exit(interop.run(__doc__, body))
