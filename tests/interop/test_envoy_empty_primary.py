#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fail-over story with a worse end: the primary comes back without its disk and without its files,
while Envoys behind the edge serve requests all the time. What it does not name any more is held, by the
stand-in and by the edge; an Envoy that begins then is given all of it. When the files are back, so is
the primary. No request fails.
"""
import importlib.machinery
import importlib.util
import shutil
import socket
import sys
import time
import types

from interop import SOURCE, check, envoy_or_skip, run

EMPTY_S = 15  # longer than all waits after which something could be said to be gone

STORY = SOURCE / 'docs' / 'examples' / 'failover' / 'run'
QUIET = types.SimpleNamespace(step=print, saw=print)


def load_story():
    loader = importlib.machinery.SourceFileLoader('failover', str(STORY))
    story = importlib.util.module_from_spec(importlib.util.spec_from_loader('failover', loader))
    loader.exec_module(story)
    return story


def holds(acme, who, node):
    """Does the node say that it holds something of the primary?"""
    said, status = acme.udpactl(who, node, 'status', 'sources')
    return status == 0 and 'held' in said.lower()


def lose_all(acme, kept):
    acme.processes['uaas'].kill()
    shutil.rmtree(acme.work / 'uaas-data')
    shutil.copytree(acme.work / 'resources', kept)
    for path in (acme.work / 'resources').iterdir():
        path.unlink()


def takes_connections(port):
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        return True
    except OSError:
        return False


def look_at_new_envoy(stage, acme, backend='backend one'):
    """One that begins now."""
    envoy = acme.start_envoy('envoy-2')
    port = stage.wait_for('the listener of the second Envoy', envoy.listener_port)
    stage.wait_for('that it listens', lambda: takes_connections(port))
    requests = stage.SteadyRequests(port, per_second=20)
    requests.start()
    try:
        requests.wait_for(backend)
    except stage.Failure:
        explain(acme, envoy, requests)
        raise
    return requests


def explain(acme, envoy, requests):
    """Why the second Envoy is not served: is it the edge that has not, or Envoy that has not received?"""
    print(f'the last failures: {requests.failures[-2:]}', envoy.admin('/clusters'),
          envoy.admin('/stats?filter=update_'), sep='\n')
    for words in (('status', 'sources'), ('clients',), ('get', 'cluster'), ('get', 'endpoint')):
        print(acme.udpactl(None, 'edge', *words)[0])
    print(acme.processes['edge'].text()[-3000:])


def play(test, acme, story):
    stage, kept = story.stage, test.work / 'kept'
    requests = story.begin(acme, QUIET)
    lose_all(acme, kept)
    time.sleep(2)  # it is missed, and the stand-in is asked
    acme.start_node('uaas')
    stage.wait_for('the stand-in holds what it had', lambda: holds(acme, 'operator', 'pilot'))
    time.sleep(EMPTY_S)
    check(f'no request has failed while the primary was empty: {requests.failures[:3]}',
          requests.n_failed == 0 and requests.n_answered > 50 * EMPTY_S)
    check('they are answered as before', 'backend one' in requests.last_answer)
    second = look_at_new_envoy(stage, acme)
    check('who begins now is served, too', True)
    for path in kept.iterdir():
        stage.replace_file(acme.work / 'resources' / path.name, path.read_text(encoding='utf-8'))
    acme.register('uaas', acme.backends[1])
    for each in (requests, second):
        each.wait_for('backend two')
    acme.wait_for_hand_back()
    stage.wait_for('nothing is held any more', lambda: not holds(acme, 'operator', 'pilot') and
                   not holds(acme, None, 'edge'))
    time.sleep(1)
    for each in (requests, second):
        each.stop()
        check(f'of {each.n_answered} requests none has failed: {each.failures[:3]}',
              each.n_answered > 0 and each.n_failed == 0)


def body(test):
    story = load_story()
    arguments = types.SimpleNamespace(build=test.build, envoy=envoy_or_skip())
    with story.Acme(arguments, test.work) as acme:
        play(test, acme, story)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
