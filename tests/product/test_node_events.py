#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The events of a node itself: a NACK, a fail-over and back, a reload that fails and one that does not, a limit. What
a client floods pushes nothing else out. With workers it is the same."""
import argparse
import json
import re
import signal
import subprocess
import sys

from product import Process, check, main, wait_for
from xds_client import Client

STRING = 'google.protobuf.StringValue'
LINE = re.compile(r'^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)  (info|warning|error) +([a-z-]+) +(.*)$')
FLOOD = 100
TYPE_URL = f'type.googleapis.com/{STRING}'


def ctl(test, address, *arguments, given=None, status=0):
    done = subprocess.run([str(part) for part in (test.build / 'udpactl', '--server', address, *arguments)],
                          input=given, text=True, capture_output=True, check=False, timeout=30)
    check(f'udpactl {" ".join(map(str, arguments))}: exit status {status}', done.returncode == status,
          done.stdout + done.stderr)
    return done.stdout


def events(test, address):
    """(severity, kind, subject and text) of each."""
    done = subprocess.run([str(test.build / 'udpactl'), '--server', address, 'events', 'node'], text=True,
                          capture_output=True, check=True, timeout=30)
    found = []
    for line in done.stdout.splitlines():
        match = LINE.match(line)
        check('a line has its form', match, line) if not match else None
        found.append(match.groups()[1:])
    return found


def wait_for_event(test, address, severity, kind, part):
    def find():
        return [event for event in events(test, address) if event[:2] == (severity, kind) and part in event[2]]
    return wait_for(f'an event {kind} with {part}', find)


def publish(test, address, *names):
    resources = '---\n'.join(f'{{name: {name}, resource: {{"@type": {TYPE_URL}, value: x}}}}\n'
                             for name in names)
    ctl(test, address, 'apply', '-f', '-', given=resources)


def start(test, name, config):
    file = test.work / f'{name}.json'
    file.write_text(json.dumps({'node': {'id': name}, 'store': {'in_memory': True},
                                'sockets': [{'address': '127.0.0.1:0'}], **config}), encoding='utf-8')
    process = test.start(name, [test.build / 'udpad', '-c', file])
    line = process.wait_for_log('listening on ')
    return process, re.search(r'listening on ([^\s,]+)', line).group(1), file


def check_nack(test, address):
    with Client(address, 'envoy-1', TYPE_URL) as client:
        client.reject('no such \x1b[2Jfilter')
        wait_for_event(test, address, 'warning', 'nack', 'envoy-1')
        found = wait_for_event(test, address, 'warning', 'nack', 'no such \\u001b[2Jfilter')
        check('the NACK has its subject', found[0][2].startswith('envoy-1  '), found)
    for _ in range(FLOOD):
        with Client(address, 'envoy-1', TYPE_URL) as client:
            client.reject('again')
            client.ping()
    wait_for_event(test, address, 'warning', 'nack', 'more not shown')
    line = json.loads(next(line for line in ctl(test, address, 'events', 'node', '-o', 'json').splitlines()
                           if 'NACK' in line))
    check('the same in JSON', (line['kind'], line['entry']['kind'], line['entry']['peer'], line['entry']['type']) ==
          ('node', 'NACK', 'envoy-1', TYPE_URL), line)


def check_fail_over(test, workers):
    roots = {name: start(test, name, {}) for name in ('primary', 'standby')}
    for _, address, _ in roots.values():
        publish(test, address, 'a', 'b')
    node, address, file = start(test, 'edge', {
        'static_resources': {'config_sources': [
            {'name': name, 'udpa': {'address': root[1]}} for name, root in roots.items()]},
        'providers': [{'types': [STRING], 'config_descriptors': [
            {'resource_name': name} for name in roots]}],
        'timing': {'backoff_max': '0.5s', 'fail_back_delay': '0.5s'}, **workers})
    wait_for_event(test, address, 'info', 'source-connected', 'primary')
    wait_for_event(test, address, 'info', 'source-synchronized', 'primary')
    follow = Process([str(part) for part in (test.build / 'udpactl', '--server', address, 'events', 'node',
                                             '--follow')], test.work / 'follow.log')
    test.processes.append(follow)
    follow.wait_for_log('source-synchronized')
    check('the primary ends', test.interrupt(roots['primary'][0]) == 0)
    wait_for_event(test, address, 'warning', 'source-lost', 'primary')
    wait_for_event(test, address, 'warning', 'fail-over', 'from source primary to standby')
    wait_for('it is followed', lambda: 'fail-over' in follow.text())
    return node, address, file


def check_reload(test, node, address, file):
    good = json.loads(file.read_text())
    file.write_text(json.dumps({**good, 'nodes': {}}))
    node.process.send_signal(signal.SIGHUP)
    found = wait_for_event(test, address, 'error', 'reload-failed', 'nodes')
    check('it has the file', str(file) in found[0][2], found)
    file.write_text(json.dumps(good))
    node.process.send_signal(signal.SIGHUP)
    wait_for_event(test, address, 'info', 'reloaded', str(file))


def check_order(test, address):
    """All that has happened is there still, in order, after the flood."""
    kinds = [event[1] for event in events(test, address)]
    check('events are in their order', kinds.index('source-connected') < kinds.index('fail-over') <
          kinds.index('reload-failed') < kinds.index('reloaded') < kinds.index('nack'), kinds)
    check('the flood is a few lines', kinds.count('nack') < 20, kinds)


def body(test):
    workers = {'workers': 2} if test.arguments.variant == 'workers' else {}
    node, address, file = check_fail_over(test, workers)
    check_reload(test, node, address, file)
    check_nack(test, address)
    check_order(test, address)
    check('other kinds need a sink', 'there is no sink' in subprocess.run(
        [str(test.build / 'udpactl'), '--server', address, 'events', 'tap'], text=True, capture_output=True,
        check=False, timeout=30).stderr)
    check('the node ends', test.interrupt(node) == 0)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('alone', 'workers')))
