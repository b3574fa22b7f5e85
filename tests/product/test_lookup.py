#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A resource with delivery LAZY, asked for by name at a mirror of a mirror of the node that has it; and a
name that nobody has: it is told so, also when the nodes above are away, for interest_linger, and then
not any more."""
import argparse
import json
import subprocess
import sys
import time

from product import check, main, wait_for

CLUSTER = 'envoy.config.cluster.v3.Cluster'
PATIENCE_S = 20
LINGER_S = 4
WORKERS = {'alone': 0, 'workers': 2}


def start(test, name, above=None, **more):
    """udpad that takes everything from one above; (process, address)."""
    return test.start_below(name, {
        'node': {'id': name},
        'timing': {'backoff_max': '0.5s', 'interest_linger': f'{LINGER_S}s'},
        'store': {'in_memory': True}, **more}, above, [CLUSTER])


def get(test, address, *names, timeout=PATIENCE_S):
    """(exit status, what is printed)."""
    done = subprocess.run([str(part) for part in (
        test.build / 'udpactl', '--server', address, '--timeout', timeout, 'get', 'cluster', *names,
        '-o', 'yaml')], text=True, capture_output=True, check=False, timeout=2 * PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


def put(folder, name, **more):
    """In one step, as whoever edits files should."""
    folder.mkdir(exist_ok=True)
    new = folder / '.new'
    new.write_text(json.dumps({'name': f'com.acme/{name}', **more, 'resource': {
        '@type': f'type.googleapis.com/{CLUSTER}', 'name': name}}), encoding='utf-8')
    new.rename(folder / f'{name}.json')


def is_there(test, address, name):
    status, shown = get(test, address, f'com.acme/{name}')
    return status == 0 and f'com.acme/{name}' in shown


def until(what, look):
    wait_for(what, look)
    check(what, True)


def lazy_through_mirrors(test, folder, leaf):
    status, shown = get(test, leaf)
    check('wildcards do not bring what is lazy', status == 0 and 'com.acme/lazy' not in shown, shown)
    status, shown = get(test, leaf, 'com.acme/lazy')
    check('its name does, through two mirrors', status == 0 and 'com.acme/lazy' in shown, shown)
    status, shown = get(test, leaf, 'com.acme/also')
    check('so does an alias', status == 0 and 'com.acme/lazy' in shown, shown)
    status, shown = get(test, leaf, 'com.acme/later')
    check('of what is not there, that is said', status == 1, (status, shown))
    put(folder, 'later', delivery='LAZY')
    until('when it comes, it comes by name', lambda: is_there(test, leaf, 'later'))
    put(folder, 'eager', delivery='LAZY')
    until('what was eager leaves the wildcard', lambda: 'com.acme/eager' not in get(test, leaf)[1])
    check('and comes by name', is_there(test, leaf, 'eager'))


def absent_for_a_while(test, leaf, middle):
    status, shown = get(test, leaf, 'com.acme/none')
    check('a name that nobody has is told to be absent', status == 1, (status, shown))
    test.interrupt(middle)
    began = time.monotonic()
    while time.monotonic() - began < LINGER_S / 2:
        status, shown = get(test, leaf, 'com.acme/none')
        check('that is remembered', status == 1, (status, shown))
        time.sleep(0.2)
    status, shown = get(test, leaf, 'com.acme/never', timeout=1)
    check('of what was not asked for nothing is said without the node above', status not in (0, 1),
          (status, shown))
    until('what was remembered is asked for again later',
          lambda: get(test, leaf, 'com.acme/none', timeout=LINGER_S + 1)[0] not in (0, 1))


def play(test, workers):
    folder = test.work / f'files-{workers}'
    put(folder, 'eager')
    put(folder, 'lazy', delivery='LAZY', aliases=['com.acme/also'])
    more = {'workers': workers} if workers else {}
    _, top = start(test, f'top-{workers}', static_resources={
        'directories': [{'path': str(folder)}]}, **more)
    middle, address = start(test, f'middle-{workers}', top, **more)
    _, leaf = start(test, f'leaf-{workers}', address, **more)
    until('the mirrors have what is eager', lambda: is_there(test, leaf, 'eager'))
    lazy_through_mirrors(test, folder, leaf)
    absent_for_a_while(test, leaf, middle)


def body(test):
    play(test, WORKERS[test.arguments.variant])


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, tuple(WORKERS)))
