#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the clients of all replicas report is at each of them. "set": three replicas, with clients at
each: who asks any of them is told of all clients, also after one was killed and its clients have
moved. "upstream": two replicas dial one node, which takes neither for a twin or a loop of the other,
and has what both report."""
import sys
import threading
import time

import grpc

import udpactl
from interop import Failure, check, run, wait_for

from etcd import Cluster, program_or_skip
from test_replicas import NODE_ID, Replica
from xds_peer import CLUSTER, Client

STEADY_S = 30
PATIENCE_S = 30
TIMED_OUT = 4


class Acknowledging:
    """A client that has all clusters, and acknowledges them or not."""

    def __init__(self, address, node_id, answers=True):
        self.client = Client(address, node_id=node_id)
        self.answers = answers
        self.client.send(CLUSTER)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                if self.answers:
                    self.client.answer(response)
        except grpc.RpcError:
            pass

    def close(self):
        self.client.__exit__(None, None, None)


def clients(replica, *words):
    """Of each client, by its id, the node that it is at; a client that is listed twice is an error."""
    status, text = replica.ctl('clients', *words)
    found = {}
    for line in text.splitlines()[1:]:
        row = line.split()
        if len(row) > 5 and row[0] in found:
            raise Failure(f'{row[0]} is listed twice at {replica.name}:\n{text}')
        if len(row) > 5:
            found[row[0]] = row[1]
    return found, status, text


def expect_clients(what, replicas, wanted, *words):
    """All of them list these, and nothing is missing; of each client the node."""
    begin, last = time.monotonic(), {}

    def all_list_them():
        for replica in replicas:
            found, status, text = clients(replica, *words)
            last[replica.name] = text
            if set(found) != set(wanted) or status:
                return None
        return found
    try:
        found = wait_for(what, all_list_them, PATIENCE_S)
    except Failure:
        for name, text in last.items():
            print(f'{name}:\n{text}')
        for replica in replicas:
            print(replica.name, replica.take('status'))
        raise
    check(f'{what} ({time.monotonic() - begin:.1f} s)', True)
    return found


def is_quiet(node):
    """None of its peers is a twin or a loop."""
    text = node.text()
    return not any(word in text for word in ('two live nodes', "this node's own id", 'two nodes have',
                                             'another stream', "node's id"))


# ---- a set ----

def check_set(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), count=1)
    replicas = [Replica(test, cluster, name) for name in 'abc']
    replicas[0].take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    for one in replicas:
        one.wait_for_log('connected')
    there = {f'{one.name}-{n}': Acknowledging(one.address, f'{one.name}-{n}')
             for one in replicas for n in range(2)}
    at = expect_clients('each replica lists the clients of all', replicas, there)
    check('  each with its replica', len({at[f'{one.name}-0'] for one in replicas}) == 3 and
          all(at[f'{one.name}-0'] == at[f'{one.name}-1'] for one in replicas) and
          all(name.startswith(f'{NODE_ID}~') for name in at.values()) or print(at))
    check('and finds nothing amiss', all('PROBLEMS' not in one.take('status') for one in replicas) or
          print(replicas[0].take('status')))
    return cluster, replicas, there


def check_wait(test, replicas, there):
    """Whichever is asked, it waits for the clients of all."""
    a, b, c = replicas
    for one in replicas:
        text = one.take('wait', 'cluster', 'one')
        check(f'{one.name}: all clients have acknowledged it: {text.splitlines()[0]}', '6 of 6' in text)
    silent = Acknowledging(c.address, 'silent', answers=False)
    for one in replicas:
        status, text = wait_for('the silent client', lambda replica=one: waits_for(replica, 'silent'),
                                PATIENCE_S)
        check(f'{one.name}: 6 of 7, and which one has not', status == TIMED_OUT and '6 of 7' in text or
              print(text))
    silent.close()
    a.take('apply', '-f', udpactl.write_cluster(test, 'two.json', 'one', '2s'), '--wait')
    for one in replicas:
        check(f'{one.name}: the new version, too', '6 of 6' in one.take('wait', 'cluster', 'one'))
    check('apply --wait was sent away by none', there)


def waits_for(replica, name):
    status, text = replica.ctl('wait', 'cluster', 'one', '--timeout', '2')
    return (status, text) if name in text else None


def check_moved(replicas, there):
    """The last one is killed, and its clients go to the first."""
    a, b, c = replicas
    c.kill_hard()
    for name in [name for name in there if name.startswith('c-')]:
        there[name].close()
        there[name] = Acknowledging(a.address, name)
    begin = time.monotonic()
    at = expect_clients('each client is listed once after one replica was killed', [a, b], there)
    check('  at the replica that it is connected to', len(set(at.values())) == 2)
    check(f'  in {time.monotonic() - begin:.1f} s', True)


def body_of_set(test):
    _, replicas, there = check_set(test)
    check_wait(test, replicas, there)
    check_moved(replicas, there)
    for one in replicas:
        if one.process.poll() is None:
            check(f'{one.name} takes no other for a twin', is_quiet(one))
    for one in there.values():
        one.close()


# ---- one node that several dial ----

def body_of_upstream(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), count=1)
    top = Replica(test, cluster, 'top', node_id='top', is_replica=False)
    pair = [Replica(test, cluster, name, source=top.address) for name in 'ab']
    top.take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    there = {f'{one.name}-0': Acknowledging(one.address, f'{one.name}-0') for one in pair}
    begin = time.monotonic()
    at = expect_clients('the node lists the clients of both', [top], there, '--tree')
    check('  each with its replica', len(set(at.values())) == 2)
    for one in pair:
        wait_for('the cluster', lambda replica=one: 'one' in replica.take('get', 'cluster'), 5)
    there['a-0'].close()
    there['a-0'] = Acknowledging(pair[1].address, 'a-0')
    wait_for('the move', lambda: len(set(clients(top, '--tree')[0].values())) == 1, PATIENCE_S)
    expect_clients('a client that has moved is listed once, where it is now', [top], there, '--tree')
    while time.monotonic() < begin + STEADY_S:
        check_connected(top, pair)
        time.sleep(2)
    check(f'both stay connected for {STEADY_S} s', True)
    check('none is a twin or a loop', all(is_quiet(one) for one in (top, *pair)))
    check('and nothing is amiss', 'PROBLEMS' not in top.take('status') or print(top.take('status')))
    for one in there.values():
        one.close()


def check_connected(top, pair):
    sessions = [line for line in top.take('status', 'sessions').splitlines() if NODE_ID in line]
    if len(sessions) != len(pair):
        raise Failure(f'{len(sessions)} of {len(pair)} are connected:\n{sessions}')
    for one in pair:
        if one.text().count('source top: connected') != 1:
            raise Failure(f'{one.name} has connected more than once:\n{one.text()}')


def body(test):
    (body_of_set if test.variant == 'set' else body_of_upstream)(test)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, ('set', 'upstream')))
