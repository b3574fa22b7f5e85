#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A control plane breaks its own configuration while the node below it is frozen. Envoys behind that node serve requests
all the time; an endpoint that moves is followed; the node is killed and comes back, an Envoy begins, and both have what
was there before. What waits is shown, and is only effective after the thaw. No request fails.
"""
import json
import sys
import time

from interop import check, envoy_or_skip, run
from test_envoy_empty_primary import QUIET, load_story, look_at_new_envoy, types

BROKEN = 'com.acme/gone'  # a cluster that is not there
FROZEN_S = 4


def edge_ctl(acme, *arguments):
    said, status = acme.udpactl(None, 'edge', '--admin', f'unix:{acme.work}/edge-data/admin.sock', *arguments)
    check(f'udpactl {" ".join(arguments)}: {status}', status == 0 or print(said))
    return said


def waiting(acme):
    return {(one['name'], one['change']) for one in json.loads(edge_ctl(acme, 'thaw', '-o', 'json'))['changes']}


def write_route(stage, acme, text):
    stage.replace_file(acme.work / 'resources' / 'route.yaml', text)


def check_quiet(requests, what):
    check(f'{what}: of {requests.n_answered} requests none has failed: {requests.failures[:3]}',
          requests.n_answered > 0 and requests.n_failed == 0)


def play(acme, story):
    stage = story.stage
    requests = story.begin(acme, QUIET)
    good = (acme.work / 'resources' / 'route.yaml').read_text(encoding='utf-8')
    edge_ctl(acme, 'freeze', '--because', 'the cloud is being rebuilt')
    write_route(stage, acme, good.replace('cluster: backend', f'cluster: {BROKEN}'))
    (acme.work / 'resources' / 'listener.yaml').rename(acme.work / 'listener.yaml')
    expected = {('com.acme/front', 'changed'), ('com.acme/ingress', 'removed')}
    stage.wait_for('the route and the listener wait', lambda: waiting(acme) == expected)
    time.sleep(FROZEN_S)
    check_quiet(requests, 'while what is broken waits')
    acme.register('uaas', acme.backends[1])
    requests.wait_for('backend two')
    check('an endpoint that moves is followed', True)
    acme.processes['edge'].kill()
    acme.start_node('edge')
    second = look_at_new_envoy(stage, acme, 'backend two')
    check('an Envoy that begins gets what was served', True)
    acme.register('uaas', acme.backends[2])
    for each in (requests, second):
        each.wait_for('backend three')
        check_quiet(each, 'over the restart of the node')
    stage.wait_for('it waits still', lambda: waiting(acme) == expected)
    write_route(stage, acme, good)
    (acme.work / 'listener.yaml').rename(acme.work / 'resources' / 'listener.yaml')
    stage.wait_for('nothing waits once it is mended', lambda: not waiting(acme))
    edge_ctl(acme, 'thaw', '--yes')
    time.sleep(1)
    for each in (requests, second):
        check_quiet(each, 'after the thaw')
    write_route(stage, acme, good.replace('cluster: backend', f'cluster: {BROKEN}'))
    stage.wait_for('the same edit is effective now, and requests fail', lambda: requests.n_failed)
    for each in (requests, second):
        each.stop()


def body(test):
    story = load_story()
    arguments = types.SimpleNamespace(build=test.build, envoy=envoy_or_skip())
    with story.Acme(arguments, test.work) as acme:
        play(acme, story)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
