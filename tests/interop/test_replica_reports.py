#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the clients of all replicas report is at each of them. "set": three replicas, with clients at
each: any of them lists all clients, also after one was killed and its clients have
moved. "upstream": two replicas dial one node, which takes neither for a twin or a loop of the other,
and has what both report. "tls": they know each other by their certificates, and are under the rules; one
with another certificate is not let in."""
import json
import random
import sys
import threading
import time

import interop
import grpc
import udpactl
from interop import Failure, check, free_ports, never, run, wait_for

from authority import Authority
from etcd import Cluster, program_or_skip
from test_load_federation import Client as Reporter, SUM
from test_replicas import NODE_ID, Replica
from xds_peer import CLUSTER, Client

CLUSTER_TYPE = 'envoy.config.cluster.v3.Cluster'
LOAD = {'load_reporting': {'interval': '0.5s'}}
STEADY_S = 30
GRACE_S = 5 # UDPAI_MESH_GRACE_MS
PATIENCE_S = 30
QUIET_S = 3 # nodes look at their clients once a second
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
    """Of each client, by its id, the nodes that list it; the exit status, and all that is printed."""
    done = replica.run_ctl('clients', *words, '-o', 'json')
    found = {}
    for one in json.loads(done.stdout or '[]'):
        client = one['resource']
        if 'ofNode' not in client: # else it counts the clients of a node
            found.setdefault(client['clientId'], []).append(client['nodeId'])
    return found, done.returncode, done.stdout + done.stderr


def listed_once(replica, wanted, *words):
    """Of each client the node, if these are all, nothing is missing, and none is listed twice."""
    found, status, text = clients(replica, *words)
    is_so = not status and set(found) == set(wanted) and all(len(at) == 1 for at in found.values())
    return {name: at[0] for name, at in found.items()} if is_so else None, text


def expect_clients(what, replicas, wanted, *words):
    """All of them list these once, and nothing is missing, and that stays so; of each client the node.
    A client that moves is listed at both for a moment: each reports its own clients once a second."""
    begin, last = time.monotonic(), {}

    def all_list_them():
        found = None
        for replica in replicas:
            found, last[replica.name] = listed_once(replica, wanted, *words)
            if found is None:
                return None
        return found
    try:
        found = wait_for(what, all_list_them, PATIENCE_S)
        took_s = time.monotonic() - begin
        never(f'{what}, and later not', lambda: all_list_them() != found, QUIET_S)
    except Failure:
        for name, text in last.items():
            print(f'{name}:\n{text}')
        for replica in replicas:
            print(replica.name, replica.take('status'))
        raise
    check(f'{what} ({took_s:.1f} s)', True)
    return found


def is_quiet(node):
    """None of its peers is a twin or a loop."""
    text = node.text()
    return not any(word in text for word in ('two live nodes', "this node's own id", 'two nodes have',
                                             'another stream', "node's id"))


# ---- load ----

def counted(replica):
    """Requests, by the node that has added them up."""
    sums = {}
    for resource in json.loads(replica.run_ctl('get', SUM, '-o', 'json').stdout or '[]'):
        cluster, _, node = resource['name'].rpartition('/')
        if cluster == 'local/backend':
            sums[node] = sum(int(place.get('requests', {}).get('issued', 0))
                             for place in resource['resource'].get('localities', ()))
    return sums


def expect_counted(what, replica, wanted, is_of):
    last = []

    def is_so():
        sums = {node: n for node, n in counted(replica).items() if is_of(node)}
        last[:] = [sums]
        return sum(sums.values()) == wanted
    try:
        wait_for(what, is_so, PATIENCE_S)
    except Failure:
        raise Failure(f'{what}: {last}, and not {wanted}') from None
    check(f'{what}: {wanted} requests, by {len(last[0])}', True)


def is_replica(node):
    return node.startswith(f'{NODE_ID}~')


def begin_reports(test, node, replicas):
    """A client of LRS at each replica, which is asked to report because the node has a subscriber."""
    watch = udpactl.Ctl(test, node).start('watch', SUM, '-o', 'json')
    reporters = [Reporter(one.name, one) for one in replicas]
    for one in reporters:
        if not one.is_asked.wait(PATIENCE_S):
            raise Failure(f'{one.id} is not asked to report')
    return watch, reporters


def send(reporters):
    chance = random.Random(1)
    return sum(one.count(chance.randrange(1, 9)) for _ in range(50) for one in reporters)


# ---- a set ----

def check_load(test, replicas):
    watch, reporters = begin_reports(test, replicas[1], replicas)
    total = send(reporters)
    for one in replicas:
        expect_counted(f'{one.name} has the load of all', one, total, is_replica)
    total += send(reporters[:1])
    for one in replicas:
        expect_counted('  and of more at one of them', one, total, is_replica)
    check('  each has added up its own', len(counted(replicas[0])) == len(replicas))
    watch.terminate()
    for one in reporters:
        one.close()


def check_set(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), count=1)
    replicas = [Replica(test, cluster, name, sections=LOAD) for name in 'abc']
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


def check_wait(test, replicas):
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


def waits_for(replica, name):
    status, text = replica.ctl('wait', 'cluster', 'one', '--timeout', '2')
    return (status, text) if name in text else None


def seconds_of_look(replicas, there):
    """What looking at all takes: so late may be seen what is, and what was asked before it was."""
    begin = time.monotonic()
    for one in replicas:
        listed_once(one, there)
    return time.monotonic() - begin


def check_moved(replicas, there):
    """The last one is killed, and its clients go to the first."""
    a, b, c = replicas
    c.kill_hard()
    for name in [name for name in there if name.startswith('c-')]:
        there[name].close()
        there[name] = Acknowledging(a.address, name)
    begin = time.monotonic()
    wait_for('each client once', lambda: all(listed_once(one, there)[0] for one in (a, b)), PATIENCE_S)
    took_s = time.monotonic() - begin
    at = expect_clients('each client is listed once after one replica was killed', [a, b], there)
    check('  at the replica that it is connected to', len(set(at.values())) == 2)
    look_s = seconds_of_look([a, b], there)
    check(f'  after {took_s:.1f} s, of which a look took {look_s:.1f}',
          took_s - 2 * look_s < GRACE_S + 2)
    text = wait_for('what is missing', lambda: [text for text in [a.take('wait', 'cluster', 'one')]
                                                if '6 of 6' in text], PATIENCE_S)
    check('  and all have acknowledged, once the dead one is not in etcd any more', text)


def body_of_set(test):
    _, replicas, there = check_set(test)
    check_wait(test, replicas)
    check_load(test, replicas)
    check_moved(replicas, there)
    for one in replicas:
        if one.process.poll() is None:
            check(f'{one.name} takes no other for a twin', is_quiet(one))
    for one in there.values():
        one.close()


# ---- one node that several dial ----

def body_of_upstream(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), count=1)
    top = Replica(test, cluster, 'top', node_id='top', is_replica=False, sections=LOAD)
    pair = [Replica(test, cluster, name, source=top.address, sections=LOAD) for name in 'ab']
    top.take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    there = {f'{one.name}-0': Acknowledging(one.address, f'{one.name}-0') for one in pair}
    begin = time.monotonic()
    at = expect_clients('the node lists the clients of both', [top], there, '--tree')
    check('  each with its replica', len(set(at.values())) == 2)
    for one in pair:
        wait_for('the cluster', lambda replica=one: 'one' in replica.take('get', 'cluster'), 5)
    there['a-0'].close()
    there['a-0'] = Acknowledging(pair[1].address, 'a-0')
    wait_for('the move', lambda: clients(top, '--tree')[0].get('a-0') == [at['b-0']], PATIENCE_S)
    expect_clients('a client that has moved is listed once, where it is now', [top], there, '--tree')
    # Also while a replica has a subscriber itself, and so what the other one has.
    at_a = udpactl.Ctl(test, pair[0]).start('watch', SUM, '-o', 'json')
    watch, reporters = begin_reports(test, top, pair)
    total = send(reporters)
    expect_counted('the node has added up the load of both', top, total, lambda node: node == 'top')
    expect_counted('  as has the one with a subscriber', pair[0], total, is_replica)
    total += send(reporters)
    expect_counted('  also what follows', top, total, lambda node: node == 'top')
    watch.terminate()
    at_a.terminate()
    while time.monotonic() < begin + STEADY_S:
        check_connected(top, pair)
        time.sleep(2)
    check(f'both stay connected for {STEADY_S} s', True)
    check('none is a twin or a loop', all(is_quiet(one) for one in (top, *pair)))
    check('and nothing is amiss', 'PROBLEMS' not in top.take('status') or print(top.take('status')))
    for one in (*there.values(), *reporters):
        one.close()


def check_connected(top, pair):
    sessions = [line for line in top.take('status', 'sessions').splitlines() if NODE_ID in line]
    if len(sessions) != len(pair):
        raise Failure(f'{len(sessions)} of {len(pair)} are connected:\n{sessions}')
    for one in pair:
        if one.text().count('source top: connected') != 1:
            raise Failure(f'{one.name} has connected more than once:\n{one.text()}')


# ---- by their certificates ----

RULES = [
    {'name': 'replicas', 'identities': ['replica'], 'actions': ['PUBLISH', 'SUBSCRIBE', 'ADMIN'],
     'types': ['udpa.status.v1.ClientStatus', 'udpa.status.v1.AcknowledgementStatus'],
     'on_behalf_of': ['*']},
    {'name': 'operators', 'identities': ['operator'], 'actions': ['PUBLISH', 'SUBSCRIBE', 'ADMIN']},
]


def start_with(test, cluster, authority, name, common_name):
    certificate, key = authority.issue(common_name, name)
    port = free_ports(1)[0]
    tls = {'certificate_file': str(certificate), 'private_key_file': str(key),
           'client_ca_file': str(authority.certificate)}
    replica = Replica(test, cluster, name, port, sections={
        'sockets': [{'address': f'127.0.0.1:{port}', 'tls': tls}], 'acl': {'rules': RULES}})
    replica.how = ('--ca', authority.certificate, '--cert', authority.folder / 'operator.crt',
                   '--key', authority.folder / 'operator.key')
    return replica


def body_of_tls(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), count=1)
    authority = Authority(test.work / 'authority')
    authority.issue('operator')
    a, b = (start_with(test, cluster, authority, name, 'replica') for name in 'ab')
    a.take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    watch = udpactl.Ctl(test, b).start(*b.how, 'watch', CLUSTER_TYPE, '-o', 'json')
    for one in (a, b):
        expect_clients(f'{one.name} lists the client of B', [one], {'udpactl'})
        check('  and waits for it', '1 of 1' in one.take('wait', 'cluster', 'one'))
    mallory = start_with(test, cluster, authority, 'mallory', 'mallory')
    for one in (a, b, mallory):
        wait_for('the one that is not let in', lambda node=one: any(
            words in node.text() for words in ('is not that of a replica', 'is not connected')),
            PATIENCE_S)
    check('one with another certificate is not let in', True)
    time.sleep(1)
    check('  and the others list what they listed', set(clients(a)[0]) == {'udpactl'})
    watch.terminate()


BODIES = {'set': body_of_set, 'tls': body_of_tls, 'upstream': body_of_upstream}


def body(test):
    BODIES[test.variant](test)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, tuple(BODIES)))
