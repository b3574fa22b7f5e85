#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Envoy under traffic, behind a node whose bootstrap file, and that of the node above it, are read again and again: with
other limits, times and levels, with a source and a socket more or less, broken, and with another directory that has the
same files. No request fails, and the Envoy receives nothing, until a file has other contents.
"""
import shutil
import socket
import sys
import time

from interop import check, envoy_or_skip, run
from test_envoy_empty_primary import QUIET, load_story, types

N = 25
PAUSE_S = 0.2
MORE_SOURCES = """  config_sources:
    - name: more
      udpa: {{address: '127.0.0.1:1'}}
      max_withdrawal: {}%
"""
CHANGING = '\nlimits: {{max_streams: {}}}\ntiming: {{fail_back_delay: {}s}}\nlog: {{level: {}}}\n'


def updates(envoy):
    """What it has received of all types so far."""
    lines = (envoy.admin('/stats?filter=update_success|update_rejected') or '').splitlines()
    return sum(int(line.rsplit(': ', 1)[1]) for line in lines), lines


def count(acme, node, text):
    return acme.processes[node].text().count(text)


def reload_all(stage, acme, good):
    n_rejected = 0
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        port = one.getsockname()[1]
    for i in range(N):
        for node, text in good.items():
            other = text + CHANGING.format(1000 + i, 2 + i % 3, ('INFO', 'WARNING')[i % 2])
            if node == 'edge':
                other = other.replace('  config_sources:\n', MORE_SOURCES.format(i % 3)) if i % 3 else other
                other = other.replace('sockets:\n', f'sockets:\n  - address: 127.0.0.1:{port}\n') if i % 2 else other
            if node == 'uaas' and i % 2:
                other = other.replace(f'{acme.work}/resources', f'{acme.work}/moved')
            if i % 5 == 4:
                other = other[:-10]
                n_rejected += 1
            stage.replace_file(acme.work / f'{node}.yaml', other)
            acme.processes[node].process.send_signal(1)
        time.sleep(PAUSE_S)
    return n_rejected


def play(acme, story):
    stage = story.stage
    requests = story.begin(acme, QUIET)
    envoy = acme.processes['envoy']
    shutil.copytree(acme.work / 'resources', acme.work / 'moved')
    good = {node: (acme.work / f'{node}.yaml').read_text(encoding='utf-8') for node in ('uaas', 'edge')}
    time.sleep(1)
    before = updates(envoy)
    reload_all(stage, acme, good)
    for node in good:
        stage.replace_file(acme.work / f'{node}.yaml', good[node].replace(f'{acme.work}/resources', f'{acme.work}/moved'))
        acme.processes[node].process.send_signal(1)
        check(f'{node}: broken files were reported', count(acme, node, 'the configuration stays as it was') > 0)
        stage.wait_for(f'{node}: the last file is in effect', lambda node=node: acme.processes[node].text().rstrip() and
                       'the configuration stays' not in acme.processes[node].text().splitlines()[-1])
    time.sleep(1)
    check(f'the Envoy has received nothing: {before}', updates(envoy) == before or print(updates(envoy)))
    check(f'of {requests.n_answered} requests none has failed: {requests.failures[:3]}',
          requests.n_answered > N and requests.n_failed == 0)
    route = acme.work / 'moved' / 'route.yaml'
    stage.replace_file(route, route.read_text(encoding='utf-8').replace('timeout: ', 'timeout:  ') + '\n# the same\n')
    text = route.read_text(encoding='utf-8')
    stage.replace_file(route, text.replace('cluster: backend', 'cluster: backend, timeout: 9s'))
    stage.wait_for('what is written in the directory that it is now', lambda: updates(envoy)[0] > before[0])
    requests.stop()


def body(test):
    story = load_story()
    arguments = types.SimpleNamespace(build=test.build, envoy=envoy_or_skip())
    with story.Acme(arguments, test.work) as acme:
        play(acme, story)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
