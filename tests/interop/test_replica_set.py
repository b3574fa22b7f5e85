#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may be one of a replica set: seven replicas, and the eighth says why it does not start, also where
it has a copy of what the set has. And one that trusts another key than the others removes nothing of what
they accept, though the paths in the bootstrap files are the same. And what its etcd complains of, a
replica reports."""
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request

from interop import Failure, check, never, run, wait_for

import udpactl
from etcd import Cluster, program_or_skip
from store_node import StoreNode

PREFIX_KEY = '/udpa/set'
REPLICAS_MAX = 7
PLACE_S = 25 # for some 13 s it waits for places of replicas that have died
GRACE_S = 10 # UDPAI_JANITOR_GRACE_MS
SIGNED = {'signatures': {'trusted': [{'authority': 'acme', 'key_id': '1', 'public_key_file': 'trusted.pub'}],
                         'required': [{'namespaces': ['com.acme'], 'authorities': ['acme']}]}}
REFUSAL = 'and may not have more'


class Replica(StoreNode):
    def __init__(self, test, cluster, name, port=None, key=None):
        super().__init__(test, cluster, name, port)
        if key:
            self.trust(key)
        self.write(PREFIX_KEY, **(SIGNED if key else {}))
        self.start()

    def trust(self, key):
        shutil.copy(f'{key}.pub', self.home / 'trusted.pub')

    def again(self):
        return Replica(self.test, self.cluster, self.name, self.port)

    def is_refused(self):
        wait_for(f'the end of {self.name}', lambda: self.process.poll() is not None, PLACE_S)
        check(f'{self.name} ends with status 1, and says why', self.process.returncode == 1 and
              REFUSAL in self.text() and PREFIX_KEY in self.text() or print(self.text()))
        self.test.processes.remove(self)


def take_places(cluster, places):
    """As if other replicas had them."""
    for place in places:
        cluster.ctl('put', f'{PREFIX_KEY}/m/{place}', f'\n\x03r-{place}')


def make_key(test, name):
    key = test.work / name
    for words in (('genpkey', '-algorithm', 'ed25519', '-out', key),
                  ('pkey', '-in', key, '-pubout', '-out', f'{key}.pub')):
        done = subprocess.run(['openssl', *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f'openssl {words}: {done.stderr}')
    return key


def check_keys(test, cluster):
    """The paths are the same, the files are not; and the one with the other key is the janitor."""
    right, wrong = make_key(test, 'right'), make_key(test, 'wrong')
    a = Replica(test, cluster, 'a', key=right)
    a.wait_for_log('listening on ')
    b = Replica(test, cluster, 'b', key=right)
    b.wait_for_log('listening on ')
    signed = test.work / 'signed.yaml'
    signed.write_text(a.take('sign', '-f', udpactl.write_cluster(test, 'backend.json', 'com.acme/backend'),
                             '--key', right, '--key-id', '1', '--authority', 'acme'), encoding='utf-8')
    a.take('apply', '-f', signed)
    wait_for('it at the other one', lambda: 'backend' in b.take('get', 'cluster'), 10)
    a.trust(wrong)
    a.wait_for_log('reloaded')
    wait_for('that A hides it', lambda: 'backend' not in a.take('get', 'cluster'), 10)
    wait_for('  and says so', lambda: 'are not served by this one' in a.take('status'), 10)
    wait_for('that their configurations differ in the status',
             lambda: 'has another configuration' in b.take('status'), 10)
    never('that it goes from etcd', lambda: not cluster.ctl(
        'get', '--prefix', '--keys-only', f'{PREFIX_KEY}/c/com.acme/'), GRACE_S + 3)
    check('B serves it', 'backend' in b.take('get', 'cluster'))
    a.trust(right)
    wait_for('it at A again', lambda: 'backend' in a.take('get', 'cluster'), 10)
    a.end()
    b.end()
    cluster.ctl('del', '--prefix', PREFIX_KEY)


def check_places(test, cluster):
    first = Replica(test, cluster, 'first')
    first.wait_for_log('listening on ')
    first.take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    first.end()
    take_places(cluster, range(1, REPLICAS_MAX + 1))
    first, fresh = first.again(), Replica(test, cluster, 'fresh')
    first.wait_for_log('listening on ')
    check('one that has a copy serves that', 'one' in first.take('get', 'cluster'))
    fresh.is_refused()
    check('  and has served nobody', 'listening on ' not in fresh.text())
    first.is_refused()
    fresh = Replica(test, cluster, 'again')
    fresh.wait_for_log('reading etcd before clients are served')
    cluster.ctl('del', f'{PREFIX_KEY}/m/{REPLICAS_MAX}')
    fresh.wait_for_log('listening on ')
    check('one that gets the place of another starts', 'one' in fresh.take('get', 'cluster'))
    first = first.again()
    first.wait_for_log('listening on ')
    cluster.ctl('del', f'{PREFIX_KEY}/m/1')
    wait_for('both in the set', lambda: {first.address, fresh.address} <= set(fresh.replicas()), PLACE_S)
    check('the other one goes on, too', first.process.poll() is None)


def set_alarm(cluster, action, alarm):
    """By etcd's JSON interface: etcdctl has no such command."""
    request = urllib.request.Request(f'http://{cluster.endpoints[0]}/v3/maintenance/alarm', json.dumps(
        {'action': action, 'memberID': '0', 'alarm': alarm}).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()


def metric(replica, name):
    with urllib.request.urlopen(f'http://127.0.0.1:{replica.http}/stats/prometheus', timeout=10) as answer:
        return re.search(rf'^udpa_replica_{name} (\S+)$', answer.read().decode(), re.M)[1]


def n_commits(replica):
    with urllib.request.urlopen(f'http://127.0.0.1:{replica.http}/metrics', timeout=10) as answer:
        found = re.search(r'^udpa_store_commit_seconds_count (\S+)$', answer.read().decode(), re.M)
        return int(found[1]) if found else 0


def check_alarms(test, cluster):
    """etcd says that its members differ, then that it is full: publishers read why at once."""
    a = Replica(test, cluster, 'a')
    a.wait_for_log('listening on ')
    a.take('apply', '-f', udpactl.write_cluster(test, 'one.json', 'one'))
    wait_for('the size of the database in the metrics', lambda: int(metric(a, 'etcd_size_bytes')) > 0, 10)
    wait_for('the time that etcd has taken for it', lambda: n_commits(a) >= 1, 10)
    for alarm, words in (('CORRUPT', 'a member has other data than the others'),
                         ('NOSPACE', 'its database is full')):
        set_alarm(cluster, 'ACTIVATE', alarm)
        begin = time.monotonic()
        status, text = a.ctl('apply', '-f', udpactl.write_cluster(test, 'two.json', 'two', '2s'))
        check(f'with {alarm} it is refused at once, and why: {text.strip()}',
              status == udpactl.REFUSED and alarm in text.upper().replace('SPACE EXCEEDED', 'NOSPACE') and
              time.monotonic() - begin < 8)
        wait_for('  which is in the status, too', lambda: words in a.take('status'), 10)
        check('  and in the metrics', metric(a, 'etcd_has_alarm') == '1')
        check('  what it has is served', 'one' in a.take('get', 'cluster'))
        set_alarm(cluster, 'DEACTIVATE', alarm)
        wait_for('that it takes publications again', lambda: a.ctl(
            'apply', '-f', udpactl.write_cluster(test, 'three.json', alarm.lower()))[0] == 0, 10)
    a.end()
    cluster.ctl('del', '--prefix', PREFIX_KEY)


def body(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'), 1)
    check_alarms(test, cluster)
    check_keys(test, cluster)
    check_places(test, cluster)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
