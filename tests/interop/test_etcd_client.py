#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client of etcd with real clusters: what is asked is answered, members are killed and stopped,
and of each write it is known whether it was done, was not, or may have been."""
import json
import sys
import time

from interop import check, free_ports, run, wait_for

from authority import Authority
from etcd import Cluster, Driver, program_or_skip

VERSIONS = {'debian': '3.4.', 'current': '3.7.'}
ALL = ('/udpa/', '/udpa0')


def expect(what, answer, **wanted):
    for name, value in wanted.items():
        check(f'{what}: {name} is {value}', answer.get(name) == value or print(answer))


def expect_text(what, answer, outcome, *parts):
    expect(what, answer, outcome=outcome)
    for part in parts:
        check(f'  and says …{part}…', part in answer['error'] or print(answer))


def read_all(driver, *words):
    """Its keys and their values."""
    answer = driver('range', *ALL, *words)
    check('all keys are read', answer['outcome'] == 'done' or print(answer))
    return {kv['key']: kv['value'] for kv in answer['kvs']}


# ---- what is asked ----

def check_calls(driver, variant):
    status = driver('status')
    expect('status', status, outcome='done')
    check('  of the right version', status['version'].startswith(VERSIONS[variant]))
    first = driver('put', '/udpa/a', 'one', 0)
    expect('a key that is not there', first, outcome='done', succeeded=1)
    lost = driver('put', '/udpa/a', 'two', 0)
    expect('a lost race', lost, outcome='done', succeeded=0, n=1)
    check('  shows what there is', lost['kvs'][0]['value'] == 'one' and
          lost['kvs'][0]['mod'] == first['revision'])
    second = driver('put', '/udpa/a', 'two', first['revision'])
    expect('a race that was won', second, succeeded=1, revision=first['revision'] + 1)
    many = driver('puts', 128, '/udpa/many-', 350)
    expect('128 keys at once', many, outcome='done', succeeded=1, revision=second['revision'] + 1)
    page = driver('range', *ALL, 0, 100)
    expect('a page', page, n=100, more=1, revision=many['revision'])
    expect('an old state', driver('range', *ALL, second['revision'], 0), n=1, more=0)
    expect('as the member has it', driver('range', *ALL, 0, 0, 'serializable'), n=129)
    expect_text('too many keys', driver('puts', 129, '/udpa/more-', 10), 'rejected',
                'too many operations', '--max-txn-ops')
    expect_text('too large a value', driver('puts', 1, '/udpa/large', 1600000), 'rejected',
                'request is too large')
    expect('a large value', driver('puts', 1, '/udpa/large', 1400000), outcome='done')
    gone = driver('delete', *ALL)
    expect('all are deleted', gone, outcome='done')
    expect('  so that there are none', driver('range', *ALL, 0, 0), n=0)
    return first['revision'], gone['revision']


def check_leases(driver):
    grant = driver('grant', 60)
    expect('a lease', grant, outcome='done', ttl=60)
    lease = grant['lease']
    expect('a key with it', driver('lease_put', '/udpa/live', 'here', lease), succeeded=1)
    expect('  which is not created twice', driver('lease_put', '/udpa/live', 'x', lease), succeeded=0)
    expect('  and has it', driver('range', '/udpa/live', '', 0, 0)['kvs'][0], lease=lease)
    expect('it is kept alive', driver('keep', lease), outcome='done', lease=lease, ttl=60)
    expect('it is revoked', driver('revoke', lease), outcome='done')
    expect('  with its key', driver('range', '/udpa/live', '', 0, 0), n=0)
    expect('  and is not kept alive any more', driver('keep', lease), outcome='done', ttl=0)
    expect_text('nor revoked again', driver('revoke', lease), 'rejected', 'lease not found')


def events_until(driver, watch, revision):
    """Events of a watch up to a revision, and how many parts they came in."""
    events, parts = [], 0
    while not events or events[-1]['mod'] < revision or parts and is_part:
        change = driver.take(watch)
        check('a change', change['kind'] == 'changed' or print(change))
        is_part = change['part']
        parts += is_part
        events += change['events']
    return events, parts


def check_watch(driver, cluster, begin, end):
    watch = driver.begin('watch', *ALL, begin)
    expect('a watch of the past', driver.take(watch), kind='created')
    events, _ = events_until(driver, watch, end)
    events = [one for one in events if one['mod'] <= end]
    check(f'  shows all {len(events)} changes', len(events) == 261)
    check('  in their order', [one['mod'] for one in events] == sorted(one['mod'] for one in events))
    check('  deletions, too', sum(one['delete'] for one in events) == 130)
    check('  one revision for what was one', len({one['mod'] for one in events}) == 5)
    put = driver('put', '/udpa/b', 'new', -1)
    change = driver.take(watch)
    expect('a new change', change['events'][0], mod=put['revision'], key='/udpa/b', value='new')
    driver('put', '/elsewhere', 'x', -1)
    driver.begin('progress', number=watch)
    progress = driver.take(watch)
    expect('progress', progress, kind='changed', events=[], revision=put['revision'] + 1)
    for n in range(3): # together they are more than a message of etcd holds
        driver('puts', 1, f'/udpa/large{n}', 1000000)
    again = driver.begin('watch', *ALL, put['revision'])
    driver.take(again)
    events, parts = events_until(driver, again, put['revision'] + 4)
    check(f'  large changes come whole, {parts} in parts', len(events) == 4)
    driver.begin('unwatch', number=watch)
    driver.begin('unwatch', number=again)
    driver('delete', *ALL)
    revision = driver('put', '/udpa/c', 'c', -1)['revision']
    cluster.ctl('compact', revision)
    expect('a revision that is gone', driver('range', *ALL, begin, 0), outcome='rejected', compacted=1)
    watch = driver.begin('watch', *ALL, begin)
    answers = [driver.take(watch)]
    if answers[0]['kind'] == 'created':
        answers.append(driver.take(watch))
    expect('  cannot be watched', answers[-1], kind='ended', compact=revision)


# ---- members that fail ----

def check_dead_endpoint(test, cluster):
    """A write goes on to the next member, since the first cannot have it."""
    driver = Driver(test, [f'127.0.0.1:{free_ports(1)[0]}', *cluster.endpoints])
    expect('with a dead first endpoint', driver('put', '/udpa/dead', 'no', -1), outcome='done')
    watch = driver.begin('watch', *ALL, 0)
    expect('  and a watch', driver.take(watch), kind='created')
    alone = Driver(test, [f'127.0.0.1:{free_ports(1)[0]}'])
    expect_text('with nothing else', alone('put', '/udpa/dead', 'no', -1), 'not done',
                'cannot connect to etcd at 127.0.0.1:', 'Connection refused', 'does it run')
    watch = alone.begin('watch', *ALL, 0)
    ended = alone.take(watch)
    expect('  a watch ends', ended, kind='ended')
    check('  and says why', 'cannot connect to etcd' in ended['error'])


def check_killed_leader(test, cluster):
    """Writes go on within seconds; what was done is there, and what was not is not."""
    driver = Driver(test, cluster.endpoints)
    leader = cluster.leader()
    orders, begin = [], time.monotonic()
    while time.monotonic() < begin + 5:
        if len(orders) == 40:
            killed_at = time.monotonic()
            cluster.members[leader].kill()
        key = f'/udpa/kill-{len(orders):04}'
        orders.append((key, driver.begin('put', key, 'x', 0), time.monotonic()))
        time.sleep(0.02)
    answers = [(key, driver.take(number)) for key, number, _ in orders]
    outcomes = {key: answer['outcome'] for key, answer in answers}
    held = {key for key in outcomes if driver('range', key, '', 0, 0)['n'] == 1}
    done = {key for key, outcome in outcomes.items() if outcome == 'done'}
    not_done = {key for key, outcome in outcomes.items() if outcome == 'not done'}
    unknown = len(outcomes) - len(done) - len(not_done)
    print(f'   {len(done)} done, {len(not_done)} not done, {unknown} unknown', flush=True)
    check('what was done is there', done <= held)
    check('what was not done is not there', not not_done & held)
    check('most were done', len(done) > len(orders) / 2)
    back = min(at for key, _, at in orders if at > killed_at + 0.2 and key in done)
    check(f'writes went on {back - killed_at:.1f} s after the leader was killed',
          back - killed_at < 3.5)
    cluster.start(leader)
    cluster.wait_ready()


def check_stopped_member(test, cluster):
    """A watch at a member that is stopped ends, and the next one, elsewhere, lacks nothing."""
    driver = Driver(test, cluster.endpoints)
    watch = driver.begin('watch', *ALL, 0)
    created = driver.take(watch)
    members = {f'{int(one["Status"]["header"]["member_id"]):x}': name for name in cluster.names
               for one in json.loads(cluster.ctl('endpoint', 'status', '-w', 'json',
                                                               names=[name]))}
    stopped = cluster.members[members[created['member']]]
    stopped.pause()
    begin = time.monotonic()
    others = Driver(test, [one for one in cluster.endpoints
                           if not one.endswith(str(cluster.client_port[stopped.name]))])
    put = wait_for('a write elsewhere', lambda: (lambda answer: answer if answer['outcome'] == 'done'
                                                 else None)(others('put', '/udpa/stop', 'x', -1)))
    ended = driver.take(watch)
    expect('the watch at a stopped member', ended, kind='ended')
    check(f'  ended within {time.monotonic() - begin:.1f} s', time.monotonic() - begin < 12)
    watch = driver.begin('watch', *ALL, created['revision'] + 1)
    expect('the next one', driver.take(watch), kind='created')
    change = driver.take(watch)
    check('  is elsewhere', change['member'] != created['member'])
    expect('  and has what was written meanwhile', change['events'][-1], mod=put['revision'])
    stopped.go_on()
    cluster.wait_ready()


def check_no_quorum(test, cluster):
    driver = Driver(test, cluster.endpoints[:1])
    held = driver('put', '/udpa/quorum', 'held', -1)
    for name in cluster.names[1:]:
        cluster.members[name].pause()
    time.sleep(0.1)
    # The deadline goes with the request, so the member may answer first.
    lost = driver('put', '/udpa/quorum', 'lost?', held['revision'])
    expect('a write without a quorum', lost, outcome='unknown')
    check(f'  and says so: {lost["error"]}', 'has not answered within 500 ms' in lost['error'] or
          'request timed out' in lost['error'])
    expect('a read', driver('range', '/udpa/quorum', '', 0, 0), outcome='not done')
    expect('a read of what the member has', driver('range', '/udpa/quorum', '', 0, 0, 'serializable'),
           outcome='done', n=1)
    number = driver.begin('put', '/udpa/quorum', 'x', 0)
    driver.begin('cancel', number=number)
    for name in cluster.names[1:]:
        cluster.members[name].go_on()
    cluster.wait_ready()
    check('what was cancelled is not answered', driver.answers[number].empty())
    now = driver('range', '/udpa/quorum', '', 0, 0)['kvs'][0]['value']
    check(f'what was unknown is known: {now}', now in ('held', 'lost?'))


# ---- who asks ----

def check_users(test, program):
    cluster = Cluster(test, program, 1)
    for words in (('user', 'add', 'root:rootword'), ('user', 'add', 'udpa:secret'),
                  ('role', 'add', 'replicas'), ('user', 'grant-role', 'root', 'root'),
                  ('role', 'grant-permission', '--prefix=true', 'replicas', 'readwrite', '/udpa/'),
                  ('user', 'grant-role', 'udpa', 'replicas'), ('auth', 'enable')):
        cluster.ctl(*words)
    driver = Driver(test, cluster.endpoints, 'udpa', 'secret')
    expect('with user and password', driver('put', '/udpa/user', 'x', -1), outcome='done')
    expect_text('outside of its role', driver('put', '/other', 'x', -1), 'rejected',
                'permission denied', 'store.prefix')
    watch = driver.begin('watch', *ALL, 0)
    expect('a watch', driver.take(watch), kind='created')
    other = driver.begin('watch', '/other', '', 0)
    answers = [driver.take(other)]
    if answers[-1]['kind'] == 'created':
        answers.append(driver.take(other))
    expect('a watch outside of it', answers[-1], kind='ended')
    check('  says why', 'permission denied' in answers[-1]['error'] or print(answers))
    expect('status', driver('status'), outcome='done')
    nobody = Driver(test, cluster.endpoints)
    expect_text('without a user', nobody('put', '/udpa/user', 'x', -1), 'rejected',
                'user name is empty', 'store.user')
    wrong = Driver(test, cluster.endpoints, 'udpa', 'guess')
    expect_text('with a wrong password', wrong('put', '/udpa/user', 'x', -1), 'rejected',
                'invalid user ID or password')
    wrong.process.stdin.write('password\tsecret\n')
    expect('  which is corrected', wrong('put', '/udpa/user', 'x', -1), outcome='done')
    name = cluster.names[0] # tokens are in memory alone
    cluster.members[name].kill()
    changed = driver.take(watch)
    expect('the watch has a change', changed, kind='changed')
    expect('  and ends with etcd', driver.take(watch), kind='ended')
    cluster.start(name)

    def watches():
        """Nothing but watches, and no token is known any more."""
        again = driver.begin('watch', *ALL, 0)
        return driver.take(again)['kind'] == 'created' and \
            driver('put', '/udpa/user', 'z', -1)['outcome'] == 'done' and \
            driver.take(again)['kind'] == 'changed'
    wait_for('a watch with another token', watches)
    expect('another token is asked for', wait_for(
        'a write', lambda: (lambda answer: answer if answer['outcome'] == 'done' else None)(
            driver('put', '/udpa/user', 'y', -1))), outcome='done')


def check_tls(test, program):
    authority = Authority(test.work / 'authority')
    server = authority.issue('server')
    root = authority.issue('root')
    tls = {'certificate': server[0], 'key': server[1], 'authorities': authority.certificate,
           'root_certificate': root[0], 'root_key': root[1]}
    cluster = Cluster(test, program, 1, tls=tls)
    driver = Driver(test, cluster.endpoints, tls=(authority.certificate, *root))
    expect('with TLS', driver('put', '/udpa/tls', 'x', -1), outcome='done')
    plain = Driver(test, cluster.endpoints)
    expect_text('without', plain('put', '/udpa/tls', 'x', -1), 'not done', 'does it want TLS')
    nobody = Driver(test, cluster.endpoints, tls=(authority.certificate,))
    expect('without a certificate', nobody('put', '/udpa/tls', 'x', -1), outcome='not done')
    stranger = Authority(test.work / 'stranger', 'stranger')
    fooled = Driver(test, cluster.endpoints, tls=(stranger.certificate, *root))
    expect_text('another authority', fooled('put', '/udpa/tls', 'x', -1), 'not done',
                'signed by another CA')


def body(test):
    program = program_or_skip(test, test.variant)
    cluster = Cluster(test, program)
    driver = Driver(test, cluster.endpoints)
    begin, end = check_calls(driver, test.variant)
    check_leases(driver)
    check_watch(driver, cluster, begin, end)
    check_dead_endpoint(test, cluster)
    check_killed_leader(test, cluster)
    check_stopped_member(test, cluster)
    check_no_quorum(test, cluster)
    check_users(test, program)
    check_tls(test, program)
    for process in test.processes:
        if isinstance(process, Driver):
            process.end()


if __name__ == '__main__':
    sys.exit(run(__doc__, body, tuple(VERSIONS)))
