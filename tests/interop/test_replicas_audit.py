#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit of several udpad at one etcd: each has the records of all, also one that was killed in the middle, and one
with an empty disk; and there is no change without its record, nor a record without its change. A freeze at one of them
is one of all, also of one with an empty disk."""
import json
import shutil
import sys
import threading

from interop import check, run, wait_for

from etcd import Cluster, program_or_skip
from test_replicas import PREFIX, PREFIX_KEY, STRING, Replica

MANY = 30
KILLS = 3


def document(*names):
    return '---\n'.join(f'name: local/{name}\nresource:\n  "@type": {STRING}\n  value: "{name}"\n' for name in names)


def publish(test, replica, *names):
    file = test.work / f'{names[0]}.yaml'
    file.write_text(document(*names), encoding='utf-8')
    return replica.run_ctl('apply', '-f', file).returncode == 0


def records(replica, *more):
    return json.loads(replica.take('audit', '-o', 'json', '--limit', '100000', '--admin',
                                   f'unix:{replica.directory}/admin.sock', *more))


def published(replica):
    """By name, how often."""
    found = {}
    for one in records(replica):
        if one['action'] == 'publish':
            found[one['name']] = found.get(one['name'], 0) + 1
    return found


def names(replica):
    return {one['name'] for one in json.loads(replica.take('get', STRING.removeprefix(PREFIX), '-o', 'json'))}


def test_all_have_it(test, cluster, replicas):
    a, b = replicas
    check('A takes a publication', publish(test, a, 'one', 'two'))
    b.take('delete', STRING.removeprefix(PREFIX), 'two')
    wait_for('both have three records', lambda: [len(records(one)) for one in replicas] == [3, 3], 10)
    first, second, third = records(b)
    check('B has what A did', {first['name'], second['name']} == {'local/one', 'local/two'} and
          first['action'] == second['action'] == 'publish' and first['peer'] == 'udpactl')
    check('  and which one it was', first['node'] == second['node'] != third['node'] or print(first, third))
    check('a removal is one record', (third['action'], third['name']) == ('remove', 'local/two'))
    def comparable(one):
        return {key: value for key, value in one.items() if key not in ('seq', 'table')}
    check('both have the same', [comparable(one) for one in records(a)] == [comparable(one) for one in records(b)])
    keys = cluster.ctl('get', '--prefix', '--keys-only', f'{PREFIX_KEY}/a/').split()
    check('etcd has a key for each transaction', len(keys) == 2 or print(keys))


def test_admin(replicas):
    a, b = replicas
    a.take('runtime', 'set', 'x=1', '--admin', f'unix:{a.directory}/admin.sock')
    wait_for('an admin call is known everywhere', lambda: any(
        one['action'] == 'admin' and one['reason'] == '/runtime_modify?x=1' for one in records(b)), 10)


def admin(replica, *arguments):
    return replica.take(*arguments, '--admin', f'unix:{replica.directory}/admin.sock')


def test_freeze(test, replicas):
    a, b = replicas
    admin(a, 'freeze', '--because', 'incident 4711')
    for one in replicas:
        wait_for(f'{one.name} is frozen', lambda one=one: not publish(test, one, 'frozen'), 5)
    b.kill_hard()
    shutil.rmtree(b.directory)
    b = b.again()
    wait_for('an empty one is, too', lambda: 'incident 4711' in b.take('status'), 20)
    check('  and has all', names(b) == names(a))
    check('  and rejects, too', not publish(test, b, 'frozen'))
    admin(b, 'thaw', '--yes')
    for one in (a, b):
        wait_for(f'{one.name} is thawed', lambda one=one: publish(test, one, f'thawed-{one.name}'), 5)
    wait_for('who has done that is known everywhere', lambda: all(
        [one['reason'].split('?')[0] for one in records(replica) if one['action'] == 'admin'] == ['/freeze', '/thaw']
        for replica in (a, b)), 10)
    return [a, b]


def test_killed(test, replicas):
    """Whatever had no receipt may be there or not: but with its record, or without."""
    a, b = replicas
    for kill in range(KILLS):
        done, stop = [], threading.Event()

        def publish_all(replica=a, kill=kill, done=done, stop=stop):
            for n in range(MANY):
                if stop.is_set():
                    return
                if publish(test, replica, f'k{kill}-{n}'):
                    done.append(f'local/k{kill}-{n}')

        thread = threading.Thread(target=publish_all)
        thread.start()
        wait_for('some have receipts', lambda done=done: len(done) >= 3, 60)
        a.kill_hard()
        stop.set()
        thread.join()
        found = published(b)
        check(f'kill {kill}: all {len(done)} that have a receipt have a record', all(found.get(one) == 1 for one in done)
              or print(done, found))
        wait_for('what is there has a record, and the other way round',
                 lambda kill=kill: {one for one in names(b) if f'/k{kill}-' in one} ==
                 {one for one in published(b) if f'/k{kill}-' in one}, 10)
        a = a.again()
        wait_for('A has the same again', lambda a=a: published(a) == published(b), 30)
    return [a, b]


def test_empty_disk(test, replicas):
    a, b = replicas
    a.kill_hard()
    shutil.rmtree(a.directory)
    a = a.again()
    wait_for('one with an empty disk has all', lambda: published(a) == published(b), 30)
    return [a, b]


def body(test):
    cluster = Cluster(test, program_or_skip(test, test.variant))
    replicas = [Replica(test, cluster, name) for name in 'ab']
    test_all_have_it(test, cluster, replicas)
    replicas = test_freeze(test, replicas)
    test_admin(replicas)
    replicas = test_killed(test, replicas)
    test_empty_disk(test, replicas)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, ('debian', 'current')))
