#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl conform: a node passes in all variants, and what is printed is what programs can read."""
import argparse
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

from product import check, main

# What a node knowingly does otherwise: docs/conformance.md says why.
KNOWN = re.compile(r'^delta/.*/ttl-only-for-those-who-can$|^errors/sotw-.*/told-once$')
QUICK = ('--quiet-ms', '50', '--timeout', '10')


def field(number, data):
    """A field of a message, of less than 16 KiB."""
    size = len(data)
    return bytes([number << 3 | 2, size % 128 | 128, size // 128]) + data


class Conform:
    """Calls udpactl conform at one server."""

    def __init__(self, test, address):
        self.command = [test.build / 'udpactl', '--server', address, 'conform', *QUICK]

    def __call__(self, *arguments, status=0, err=''):
        done = subprocess.run([str(part) for part in [*self.command, *arguments]], text=True,
                              capture_output=True, check=False)
        words = ' '.join(str(argument) for argument in arguments)
        check(f'udpactl conform {words}: exit status {status}', done.returncode == status,
              f'{done.returncode}: {done.stdout[-3000:]}{done.stderr}')
        check(f'  and says …{err}…' if err else '  and complains of nothing',
              err in done.stderr if err else not done.stderr, done.stderr)
        return done.stdout


def check_all(conform, address, rest):
    lines = conform('--apply-to', address, *(('--rest-server', rest) if rest else ()), '-o',
                    'tap').splitlines()
    count = int(lines[0].removeprefix('1..'))
    results = [line for line in lines if re.match(r'(not )?ok \d', line)]
    check(f'  {count} cases', len(results) == count > 600, lines[0])
    skipped = [line for line in results if '# SKIP' in line and (rest or ' - rest/' not in line)]
    check('  none is skipped', not skipped, skipped)
    short = [line.split()[3] for line in results if '(falls short' in line]
    check('  none falls short that is not known', all(KNOWN.match(name) for name in short), short)
    for group in ('sotw/aggregated/', 'sotw/per-type/', 'delta/aggregated/', 'delta/per-type/',
                  'order/sotw-', 'order/delta-', 'envelope/', 'types/sotw-', 'types/delta-', 'vhds/',
                  'demand/', 'xdstp/sotw-', 'xdstp/delta-', 'collection/', 'leds/', 'errors/sotw-',
                  'errors/delta-', 'fetch/', 'rest/'):
        n = sum(f' - {group}' in line for line in results)
        check(f'  {n} of {group}', n >= 5, lines[0])


def check_formats(conform, address):
    some = ('--apply-to', address, '--run', '^delta/aggregated/(initial|ttl-only)')
    root = xml.etree.ElementTree.fromstring(conform(*some, '-o', 'junit'))
    cases = root.findall('testcase')
    check('  JUnit', root.get('tests') == str(len(cases)) == '5' and root.get('failures') == '0' and
          {case.get('classname') for case in cases} == {'delta.aggregated'},
          xml.etree.ElementTree.tostring(root))
    results = json.loads(conform(*some, '-o', 'json'))
    check('  JSON', [result['result'] for result in results] == ['pass'] * 4 + ['short'] and
          all(result['rule'] and result['section'] for result in results), results)
    strict = conform(*some, '-o', 'tap', '--strict', status=1)
    check('  TAP, strictly', re.search(r'^not ok 5 - delta/aggregated/ttl-only', strict, re.M) and
          '  message: "the client has not' in strict and '    > ' in strict, strict)
    text = conform(*some)
    check('  text', 'short  delta/aggregated/ttl-only' in text and
          text.endswith('5 cases: 4 passed, 0 failed, 1 fell short, 0 skipped\n'), text)


def check_without_changes(test):
    """A server that the suite can only look at."""
    files = test.work / 'files'
    files.mkdir()
    cluster = field(1, b'type.googleapis.com/envoy.config.cluster.v3.Cluster') + \
        field(2, field(1, b'known'))
    resource = field(3, b'known') + field(2, cluster)
    (files / 'clusters.pb').write_bytes(field(2, field(
        1, b'type.googleapis.com/envoy.service.discovery.v3.Resource') + field(2, resource)))
    _, address = test.start_node('fixed', '--resources', files)
    conform = Conform(test, address)
    tap = conform('-o', 'tap', '--run', '^sotw/')
    check('  names are learnt', re.search(r'^ok \d+ - sotw/aggregated/initial-cluster$', tap, re.M),
          tap)
    check('  what needs changes is skipped', re.search(
        r'^ok \d+ - sotw/aggregated/update-cluster # SKIP .*--change', tap, re.M), tap)
    tap = conform('-o', 'tap', '--run', '^sotw/.*/initial-route', '--resource', 'route=none',
                  '--timeout', '1', status=1)
    check('  what it was told of is expected', 'route none was expected' in tap, tap)
    tap = conform('-o', 'tap', '--run', '^xdstp/delta-.*/(cluster-is-served|follows-changes)$',
                  '--resource', 'cluster=xdstp://local/envoy.config.cluster.v3.Cluster/known')
    check('  a URL that it was told of is asked for', len(re.findall(
        r'^ok \d+ - xdstp/delta-[a-z-]*/cluster-is-served$', tap, re.M)) == 2, tap)


def check_mistakes(conform):
    conform('more', status=2, err='conform takes no arguments')
    conform('--run', '(', status=2, err='is no regular expression')
    conform('--run', 'nothing-is-called-so', status=2, err='no case matches')
    conform('--resource', 'no=thing', status=2, err='write TYPE=NAME')
    conform('-o', 'yaml', status=2, err='has not this format')
    conform('--quiet-ms', '0', status=2, err='give milliseconds')
    conform('--authority', 'a/b', status=2, err='--authority a/b: write up to 100 letters')
    tap = conform('-o', 'tap', '--run', '^(rest|sotw)/.*cluster$', '--rest-server', '127.0.0.1:1', status=1)
    check('  no connection to REST is a failure', 'cannot connect: Connection refused' in tap, tap)
    conform('--change', 'exit 0', status=2, err='the program of --change has ended')
    conform('--change', 'read a; echo hello; cat', status=2, err="it answers 'hello")
    conform('--change', 'true', '--apply-to', 'x:1', status=2, err='give one of them')
    conform('--run', '^fetch/', status=2, err='every case was skipped')


def check_hook(conform):
    """Whatever it is asked for it cannot do: nothing is known then, and nothing passes."""
    cannot = "while read verb rest; do case $verb in set) echo unsupported not here;; " \
        "*) echo ok;; esac; done"
    conform('--change', cannot, '--run', '^sotw/', status=2, err='every case was skipped')
    conform('--change', "read a; echo ok; read a; echo error no room; cat", status=3,
            err='cannot put a cluster on the server: no room')


def check_stubborn_hook(conform):
    """Who closes its output and ignores SIGTERM is ended all the same."""
    begin = time.monotonic()
    conform('--change', "trap '' TERM; exec >&-; while :; do sleep 1; done", status=2,
            err='the program of --change has ended')
    took = time.monotonic() - begin
    check(f'  a program that does not end is ended ({took:.1f} s)', took < 30)


def start_node(test):
    """Its addresses; that of REST is None without what it needs for that."""
    descriptors = os.environ.get('UDPA_ENVOY_DESCRIPTORS', '')
    if not os.path.exists(descriptors):
        return test.start_node()[1], None
    node, address = test.start_node('node', '--http', '127.0.0.1:0', '--descriptors', descriptors)
    return address, re.search(r'listening on (\S+)', node.wait_for_log('over REST')).group(1)


def body(test):
    address, rest = start_node(test)
    conform = Conform(test, address)
    if test.arguments.variant == 'cases':
        check_all(conform, address, rest)
        return
    listed = conform('--list')
    check('  a list with rules', len(listed.splitlines()) > 300 and
          all(re.match(r'(must|should) +\S+/\S+ +\S.*: \S', line)
              for line in listed.splitlines()), listed)
    check_mistakes(conform)
    check_hook(conform)
    check_stubborn_hook(conform)
    check_formats(conform, address)
    check_without_changes(test)
    Conform(test, '127.0.0.1:1')('--timeout', '1', status=3, err='no connection within 1 s')


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('cases', 'words')))
