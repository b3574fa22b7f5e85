#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite is itself tested: a server that does everything right passes, each of many
faults is found by the cases that are meant for it, and at go-control-plane it finds what is known.
"""
import concurrent.futures
import re
import sys

import interop
import conform
import conform_findings
from conform_server import FAULTS

# What has to work whatever the fault is.
ESSENTIAL = r'^(sotw|delta)/aggregated/(initial-|update-under-wildcard$)'
QUICK = ('--quiet-ms', '100', '--timeout', '5')
# Of what does not come; what does come has long come.
PATIENT = ('--quiet-ms', '150', '--timeout', '2')


def at_once(check, what):
    """Several at a time: most of it is waiting for what does not come."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        for done in [pool.submit(check, one) for one in what]:
            done.result()


def check_good(test):
    results, status = conform.at_python(test, '', '--strict', *QUICK)
    bad = conform.not_passed(results)
    interop.check(f'a good server passes {len(results)} cases',
                  status == 0 and not bad and len(results) > 600 or results_of(results, bad))
    skipped = {name for name in conform.not_passed(results, ('skip',))
               if not name.endswith('/heartbeat-has-its-form')}
    interop.check('  skipping only what it does not do',
                  not skipped or results_of(results, skipped))


def results_of(results, names):
    """Raises with what was found: a condition that is never met."""
    raise interop.Failure('; '.join(
        f"{name}: {results[name].get('why', 'it passed')}" for name in sorted(names)))


def check_fault(test, fault, cases):
    results, status = conform.at_python(test, fault, '--strict', '--run', f'{cases}|{ESSENTIAL}',
                                        *PATIENT)
    meant = {name for name in results if re.search(cases, name)}
    found = conform.not_passed(results)
    essential = {name for name in results if re.search(ESSENTIAL, name)}
    interop.check(f'{fault}: found by {len(meant)} cases', status == 1 and meant and
                  meant <= found or results_of(results, meant - found))
    interop.check(f'{fault}: and by nothing essential', essential and
                  not found - meant or results_of(results, found - meant))


def faults(test):
    at_once(lambda fault: check_fault(test, fault, FAULTS[fault]) if fault else check_good(test),
            ['', *FAULTS])


# About the same time each, most of it waiting.
PARTS = ('^(sotw|order|envelope|fetch)/', '^(delta|demand|xdstp)/',
         '^(types|vhds|collection|leds|errors|rest)/')


def check_cache(test, cache):
    results = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(PARTS)) as pool:
        for part in pool.map(lambda part: conform.at_go(test, cache, *PATIENT, '--run', part)[0],
                             PARTS):
            results.update(part)
    found = {name for name in conform.not_passed(results)
             if not re.search(conform_findings.CHANCE, name)}
    known = [pattern for pattern, caches, _, _ in conform_findings.FINDINGS if cache in caches]
    new = {name for name in found if not any(re.search(one, name) for one in known)}
    interop.check(f'{cache}: {len(results)} cases find nothing that is not known',
                  not new or results_of(results, new))
    for one in known:
        interop.check(f'{cache}: and all that is: {one}',
                      any(re.search(one, name) for name in found))
    passed = conform.not_passed(results, ('pass',))
    interop.check(f'{cache}: {len(passed)} pass', len(passed) > 400)


def go_control_plane(test):
    conform.go_program(test)
    at_once(lambda cache: check_cache(test, cache), ('snapshot', 'linear'))


def body(test):
    {'faults': faults, 'go_control_plane': go_control_plane}[test.variant](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('faults', 'go_control_plane')))
