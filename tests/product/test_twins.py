#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two nodes with one id, and two between them: what passes the first arrives at the second, both are
told of each other, and so is one that has both as peers; a copy of a state directory is another instance; and of two live processes of
one instance the later is refused. With and without workers in the middle."""
import argparse
import json
import re
import shutil
import subprocess
import sys

from product import check, main, wait_for

CLUSTER = 'envoy.config.cluster.v3.Cluster'
PATIENCE_S = 20


def start(test, name, node_id, above=None, **more):
    """udpad that takes everything from one above; (process, address)."""
    return test.start_below(name, {
        'node': {'id': node_id}, 'timing': {'backoff_max': '0.5s'},
        'store': {'directory': str(test.work / f'{name}-data')}, **more}, above, [CLUSTER])


def ctl(test, address, *arguments):
    done = subprocess.run([str(part) for part in (test.build / 'udpactl', '--server', address,
                                                  *arguments)],
                          text=True, capture_output=True, check=False, timeout=PATIENCE_S)
    return done.stdout + done.stderr


def arrives(test, address, version):
    """Has the node the cluster with this time?"""
    return f'{version}s' in ctl(test, address, 'get', 'cluster', 'com.acme/x', '-o', 'yaml')


def publish(directory, version):
    directory.mkdir(exist_ok=True)
    new = directory / 'new'
    new.write_text(json.dumps({'name': 'com.acme/x', 'resource': {
        '@type': f'type.googleapis.com/{CLUSTER}', 'name': 'x',
        'connect_timeout': f'{version}s'}}), encoding='utf-8')
    new.rename(directory / 'x.json')


def until(what, look):
    wait_for(what, look)
    check(what, True)


def one_below_the_other(test, workers):
    folder = test.work / f'files-{workers}'
    publish(folder, 1)
    upmost, first = start(test, f'first-{workers}', 'twin', static_resources={
        'directories': [{'path': str(folder)}]})
    more = {'workers': workers} if workers else {}
    _, upper = start(test, f'upper-{workers}', 'upper', first, **more)
    _, middle = start(test, f'middle-{workers}', 'middle', upper, **more)
    second, address = start(test, f'second-{workers}', 'twin', middle)
    until('what passed the first comes to the second', lambda: arrives(test, address, 1))
    publish(folder, 2)
    until('so does what changes', lambda: arrives(test, address, 2))
    second.wait_for_log("passed another node with this node's id 'twin'")
    check('the second is told of the first in its status',
          "another node with this node's id 'twin'" in ctl(test, address, 'status'))
    line = upmost.wait_for_log("reaches another node with this node's id 'twin'")
    check(f'the first is told of the second, by those between them: {line}',
          instance_of(test, f'second-{workers}') in line)
    check('so is its status',
          "reaches another node with this node's id 'twin'" in ctl(test, first, 'status'))
    _, third = start(test, f'third-{workers}', 'third', first)
    check('nobody else is', 'twin' not in ctl(test, third, 'status').partition('PROBLEMS')[2])
    test.interrupt(second)
    until('nothing of it is told when it has gone', lambda: not ctl(test, first, 'status').partition(
        'PROBLEMS')[2].strip())


def peers_of_one(test):
    """A node that has both as peers tells of it, too."""
    _, above = start(test, 'above', 'above')
    start(test, 'one', 'pair', above)
    start(test, 'two', 'pair', above)
    until('who has both as peers is told of both',
          lambda: "two nodes have the id 'pair'" in ctl(test, above, 'status'))


def instance_of(test, name):
    return (test.work / f'{name}-data' / 'instance').read_text(encoding='ascii').split()[0]


def a_copy(test):
    first, _ = start(test, 'original', 'original')
    before = instance_of(test, 'original')
    test.interrupt(first)
    first, _ = start(test, 'original', 'original')
    check('it is the same instance after a restart', instance_of(test, 'original') == before)
    test.interrupt(first)
    shutil.copytree(test.work / 'original-data', test.work / 'copy-data')
    copy, _ = start(test, 'copy', 'original')
    check('a copy is another instance', instance_of(test, 'copy') != before)
    copy.wait_for_log('is another instance from now on')


def refused(test):
    """Without state an id says the instance."""
    _, above = start(test, 'top', 'top')
    memory = {'store': {'in_memory': True}}
    first, _ = start(test, 'clone-1', 'clone', above, **memory)
    until('the first is there', lambda: 'clone' in ctl(test, above, 'status'))
    second, _ = start(test, 'clone-2', 'clone', above, **memory)
    second.wait_for_log('two live nodes are one instance')
    check('it is told above, too', 'two live nodes are one instance' in ctl(test, above, 'status'))
    test.interrupt(first)
    until('it is let in when the first has gone', lambda: 'active' in ctl(
        test, re.search(r'listening on ([^\s,]+)', second.wait_for_log('listening on ')).group(1),
        'status').lower())


def body(test):
    one_below_the_other(test, 0)
    one_below_the_other(test, 2)
    peers_of_one(test)
    a_copy(test)
    refused(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
