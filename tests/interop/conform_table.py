#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/conformance.md: the conformance suite at udpad and at go-control-plane, and which side is right
where they differ. Run it again when the suite changes:

    tests/interop/conform_table.py --build build > docs/conformance.md

UDPA_ENVOY_DESCRIPTORS names what a node needs for REST (src/codec/make-envoy-descriptors).
"""
import contextlib
import io
import json
import os
import re
import sys

import interop
import conform
import conform_findings

GROUPS = [('sotw/aggregated', r'^sotw/aggregated/'), ('sotw/per-type', r'^sotw/per-type/'),
          ('delta/aggregated', r'^delta/aggregated/'), ('delta/per-type', r'^delta/per-type/'),
          ('order', r'^order/'), ('envelope', r'^envelope/'), ('types', r'^types/'),
          ('vhds', r'^vhds/'), ('demand', r'^demand/'), ('xdstp', r'^xdstp/'),
          ('collection', r'^collection/'), ('leds', r'^leds/'), ('errors', r'^errors/'),
          ('fetch', r'^fetch/'), ('rest', r'^rest/')]
HEAD = '''# Conformance to xDS v3

The results of `udpactl conform` ([guide](guide/conform.md)) at two servers. This page is written by
`tests/interop/conform_table.py --build build > docs/conformance.md`; tests check that it is still true
(`product conform`, `interop conform`).

passed / failed a must / fell short of a should / skipped:
'''
UDPAD = '''
## Where udpad falls short

- `delta/…/ttl-only-for-those-who-can`, a should: in delta a node sends the ttl of a resource to all
  clients. The text requires that clients announce the feature. Envoy has supported ttls in delta from the
  start and announces nothing, so it would never receive one; a client without the field skips it. In SotW
  the wrapper that carries the ttl cannot be skipped: there a node uses what the client announces.
- `errors/sotw-…/told-once`, a should: a state of clusters has the errors of all names that it lacks,
  also of those that the client already has. The text expects each error once, and forbids nothing; all
  subscribers of a state share it, errors included.

One thing is done on purpose, against what a reader of the text may expect: **a node responds to a SotW request with a
stale nonce if its list of names differs from the one before**. The text says that a server should wait for the
answer to the last response, which has the names again. If the client never sends it, the client would wait
forever; and nothing is sent twice, because a node does not respond to a request that differs in nothing,
whatever its nonce (`sotw/stale-nonce-is-not-answered` passes). In delta the text itself applies subscriptions
whatever the nonce is. The reasons are in [xds.md](design/xds.md), "Where it departs from the protocol's text".

Found by this suite, and fixed: the removal of a resource that a client had subscribed to by an alias was sent
under the alias only (`delta/…/alias-removal-is-told`), so the client kept the resource under its own name. The text
was right.
'''
PEER = '''
## go-control-plane 0.14.0, and which side is right

`snapshot`: a SnapshotCache, not the one for ADS only; `linear`: a LinearCache for each type, in a
MuxCache. `tests/interop/go-conform` is the server. "The text" is the protocol's, in our words.

| what it does | seen with | which side is right | cases |
|---|---|---|---|
'''
TAIL = '''
`snapshot` sends types in the order of a map, so the cases of `order/` that look at the order of several types
pass or fail by chance; with `linear`, whose caches are independent of each other, they are skipped. The
SnapshotCache for ADS only (`-cache ads`) responds to a SotW request that names resources only if it names all
resources of the type, and so fails most cases of `sotw/`: that is its design, but the text requires the
resources that are named. Neither cache has aliases, collections of TP1, LEDS, resource_errors, or names that a
wildcard leaves out; the linear one has no ttl and no REST; and the gateway of REST holds no requests: those
cases are skipped.
'''


def figures(results, pattern):
    words = [result['result'] for name, result in results.items() if re.search(pattern, name)]
    return ' / '.join(str(words.count(word)) for word in ('pass', 'fail', 'short', 'skip'))


def short_names(names):
    """One name for those that differ only in the way they were run."""
    return sorted({re.sub(r'^(order|envelope|types|vhds|demand|xdstp|collection|leds|errors)/[^/]*/', r'\1/', re.sub(
        r'^(sotw|delta)/[^/]*/', r'\1/', name)) for name in names})


def write_findings(results):
    for pattern, caches, what, right in conform_findings.FINDINGS:
        found = {name for cache in caches for name in conform.not_passed(results[cache])
                 if re.search(pattern, name)}
        names = ', '.join(f'`{name}`' for name in short_names(found))
        print(f'| {what} | {", ".join(caches)} | {right} | {names} |')


def body(test):
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet):
        bootstrap = test.work / 'node.yaml'
        bootstrap.write_text(json.dumps({
            'http': {'sockets': [{'address': '127.0.0.1:0'}]},
            'descriptor_sets': [os.environ['UDPA_ENVOY_DESCRIPTORS']]}))
        node = interop.Node(test, 'node', bootstrap=bootstrap)
        rest = node.wait_for_log('over REST').split('listening on ')[1].split()[0]
        results = {'udpad': conform.conform(test, node.address, '--apply-to', node.address,
                                            '--rest-server', rest)[0]}
        conform.go_program(test)
        for cache in ('snapshot', 'linear'):
            results[cache] = conform.at_go(test, cache, '--timeout', '2')[0]
    print(HEAD)
    print('| cases | udpad | go-control-plane, snapshot | go-control-plane, linear |')
    print('|---|---|---|---|')
    for name, pattern in [*GROUPS, ('all', '')]:
        print(f'| {name} |', ' | '.join(figures(one, pattern) for one in results.values()), '|')
    print(UDPAD + PEER, end='')
    write_findings(results)
    print(TAIL, end='')


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
