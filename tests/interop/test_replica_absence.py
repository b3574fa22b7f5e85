#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A replica that has less than the others, since it was down while they took something and has not reached etcd
since: it serves what it has, and sends of nothing that it does not exist. When etcd is back, it does."""
import sys
import threading
import time

from interop import check, run, wait_for

import udpactl
from etcd import Cluster, program_or_skip
from test_replicas import Replica
from xds_peer import CLUSTER, Client

SILENCE_S = 2
TIMEOUT = ('--timeout', '3')


class Watcher(threading.Thread):
    """A stream, and all that it has received."""

    def __init__(self, replica, names=(), is_delta=True, **fields):
        super().__init__(daemon=True)
        self.client = Client(replica.address, is_delta)
        self.has, self.removed, self.first_s = {}, [], None
        self.begun = time.monotonic()
        self.client.send(CLUSTER, names, **fields)
        self.start()

    def run(self):
        try:
            while True:
                response = self.client.receive()
                self.first_s = self.first_s or time.monotonic() - self.begun
                if self.client.is_delta:
                    self.has.update((one.name, one.version) for one in response.resources)
                    self.removed += response.removed_resources
                else:
                    self.has = dict.fromkeys(range(len(response.resources)))
                self.client.answer(response)
        except Exception: # the stream has ended
            pass

    def end(self):
        self.client.__exit__()


def body(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    a, b = (Replica(test, cluster, name) for name in 'ab')
    a.take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    a.take('apply', '-f', udpactl.write_cluster(test, 'gone.json', 'gone'))
    wait_for('both at B', lambda: b.ctl('get', 'cluster', 'gone')[0] == 0, 5)
    a.kill_hard()
    b.take('delete', 'cluster', 'gone')
    b.take('apply', '-f', udpactl.write_cluster(test, 'two.json', 'two'))
    client = Watcher(b)
    wait_for('what B has', lambda: {'one', 'two'} <= client.has.keys(), 5)
    client.end()
    cluster.members[cluster.names[0]].kill()
    a = a.again()
    versions = {**client.has, 'never': '1'}
    moved = Watcher(a, initial_resource_versions=versions)
    named = Watcher(a, ['one', 'two', 'never'], initial_resource_versions=versions)
    new, state = Watcher(a), Watcher(a, is_delta=False)
    wait_for('what A has', lambda: {'one', 'gone'} <= new.has.keys() and len(state.has) == 2, 5)
    check(f'without etcd a client is served, after {new.first_s:.2f} s, and {state.first_s:.2f} s', True)
    time.sleep(SILENCE_S)
    check('one that has more than A is not sent that it does not exist: '
          f'{moved.removed + named.removed}', not moved.removed + named.removed)
    status, text = a.ctl('get', 'cluster', 'two', *TIMEOUT)
    print(f'   {text.strip()}', flush=True)
    check('nor does udpactl say so', status == udpactl.TIMED_OUT and 'there is no' not in text and
          "whether there is a cluster 'local/two' is not known" in text and 'waits for etcd' in text)
    text = a.take('get', 'route')
    print(f'   {text.strip()}', flush=True)
    check('nor of a whole type', 'there is no' not in text and 'waits for etcd itself' in text)
    check('what A has, it shows', 'local/one' in a.take('get', 'cluster'))
    cluster.start(cluster.names[0])
    cluster.wait_ready()
    wait_for('the end of what does not exist', lambda: (moved.removed, named.removed) == (
        ['gone', 'never'], ['never']), 10) # the first was sent what A still had
    wait_for('what A had missed', lambda: new.has.keys() >= {'two'} and new.removed == ['gone'], 5)
    check('when etcd is back, what does not exist is removed, and nothing else', True)
    text = a.refuse('get', 'cluster', 'never')
    check('and so says udpactl', "there is no cluster 'local/never'" in text)
    for one in (moved, named, new, state):
        one.end()


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
