#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A freeze as an operator meets it: who is told, what waits, what goes on, over kill -9; the difference before the
thaw, and what is effective after it. A client that is connected all the time sees nothing of it but that."""
import argparse
import json
import os
import re
import subprocess
import sys
import urllib.parse

from product import PATIENCE_S, admin_page, check, main, wait_for

GOOD, REFUSED, MISTAKE = range(3)
STRING = 'google.protobuf.StringValue'
ENDPOINTS = 'envoy.config.endpoint.v3.ClusterLoadAssignment'
WHY = 'incident 4711, ask "ops"'


def resource_of(name, value):
    return f'name: {name}\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "{value}"\n'


def endpoints_of(name, port):
    return json.dumps({'name': name, 'resource': {
        '@type': f'type.googleapis.com/{ENDPOINTS}', 'cluster_name': name.split('/')[1], 'endpoints': [
            {'lb_endpoints': [{'endpoint': {'address': {'socket_address': {
                'address': '127.0.0.1', 'port_value': port}}}}]}]}})


class Node:
    def __init__(self, test, name, config=(), files=()):
        self.test, self.name = test, name
        self.files = test.work / f'{name}-files'
        self.files.mkdir()
        for one, value in files:
            self.write(one, value)
        config = {'node': {'id': name}, 'sockets': [{'address': '127.0.0.1:0'}],
                  'http': {'sockets': [{'address': '127.0.0.1:0'}]}, **dict(config)}
        self.config = test.work / f'{name}.json'
        self.config.write_text(json.dumps(config))
        self.start()

    def start(self):
        command = [self.test.build / 'udpad', '-c', self.config, '--state', self.test.work / f'{self.name}-data',
                   '--resources', self.files]
        self.process = self.test.start(self.name, command)
        wait_for('the whole banner', lambda: 'names without' in self.process.text() or
                 self.process.process.poll() is not None)
        check(f'{self.name} runs', self.process.process.poll() is None, self.process.text())
        self.address = re.search(r'listening on ([\d.:]+)', self.process.text())[1]
        self.admin = re.search(r'admin socket (unix:\S+)', self.process.text())[1]

    def crash(self):
        self.process.process.kill()
        self.process.process.wait()

    def write(self, name, value):
        """At once, or not at all."""
        path, new = self.files / f'{name}.yaml', self.test.work / f'{self.name}-new'
        if value is None:
            path.unlink()
            return
        new.write_text(resource_of(f'com.acme/{name}', value))
        os.replace(new, path)

    def ctl(self, *arguments, status=GOOD, text=None, out=False):
        """What it prints: of one that is to fail, why; out: all the same what is not that."""
        done = subprocess.run([str(part) for part in (
            self.test.build / 'udpactl', '--server', self.address, '--admin', self.admin, *arguments)],
            input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        check(f'{self.name}: udpactl {" ".join(map(str, arguments))[:60]}: {status}', done.returncode == status,
              f'{done.returncode}\n{done.stdout}{done.stderr}')
        return done.stderr if status and not out else done.stdout

    def values(self):
        """Of the strings that it serves."""
        found = json.loads(self.ctl('get', STRING, '-o', 'json') or '[]')
        return {one['name']: one['resource']['value'] for one in found}

    def page(self, path, *more):
        return admin_page(self.process, path, *more)[:2]

    def waiting(self):
        return {(one['name'], one['change']) for one in json.loads(self.page('/freezes')[1])['changes']}

    def metric(self, name):
        return float(re.search(rf'^{name} (\S+)$', self.page('/metrics')[1], re.M)[1])

    def serves(self, expected):
        wait_for(f'{self.name} serves {expected}', lambda: self.values() == expected, PATIENCE_S)


def check_publishers(test, node):
    node.ctl('apply', '-f', '-', text=resource_of('com.acme/published', '1'))
    node.ctl('freeze', 'com.acme', '--because', WHY)
    said = node.ctl('apply', '-f', '-', text=resource_of('com.acme/published', '2'), status=REFUSED)
    check('a publisher is told by whom and why', re.search(
        rf"'com.acme/published' is frozen, by unix:\d+ since 20\d\d-\d\d-\d\dT[\d:]+Z: {re.escape(WHY)} \(", said), said)
    said = node.ctl('delete', STRING, 'com.acme/published', status=REFUSED)
    check('a removal, too', 'is frozen' in said, said)
    node.ctl('apply', '-f', '-', text=resource_of('com.acme/published', '1'))
    node.ctl('apply', '-f', '-', text=resource_of('org.other/x', '1'))
    node.ctl('delete', STRING, 'org.other/x')
    for port in (8001, 8002):
        node.ctl('apply', '-f', '-', text=endpoints_of('com.acme/backend', port))
    node.ctl('freeze', 'com.acme', '--because', WHY, '--all')
    said = node.ctl('apply', '-f', '-', text=endpoints_of('com.acme/backend', 8003), status=REFUSED)
    check('with --all endpoints, too', 'is frozen' in said, said)
    node.ctl('thaw', 'com.acme', '--yes')
    node.ctl('delete', STRING, 'com.acme/published')


def check_seen(node):
    said = node.ctl('status')
    check('status has it', f'everything is frozen, by unix:' in said and WHY in said and '3 changes wait' in said, said)
    check('check has it', WHY in node.ctl('check', status=REFUSED, out=True))
    status, body = node.page('/readyz?verbose')
    check('the node is degraded, and ready', status == 200 and 'everything is frozen: incident' in body, body)
    check('metrics', (node.metric('udpa_freezes'), node.metric('udpa_frozen_changes')) == (1, 3))
    said = node.ctl('explain', STRING, 'com.acme/a')
    check('explain has it', 'a change waits: ' in said and 'it waits: the name is frozen' in said, said)
    said = node.ctl('thaw')
    check('the thaw shows what', re.search(r'com.acme/a +changed', said) and re.search(r'com.acme/b +removed', said) and
          re.search(r'com.acme/new +added', said) and '3 changes wait. Nothing is thawed yet' in said, said)
    one = json.loads(node.ctl('thaw', '-o', 'json'))
    check('in JSON, too', one['n_changes'] == 3 and one['freezes'][0]['reason'] == WHY, one)


def check_files(test, top, edge):
    """Files of the node and of its source; clients of both."""
    kept = {'com.acme/a': '1', 'com.acme/b': '1', 'com.acme/kept': '1'}
    edge.serves({**kept, 'com.acme/top': '1'})
    watch = test.start('watch', [test.build / 'udpactl', '--server', edge.address, 'watch', STRING, '-o', 'name'])
    wait_for('the client has all', lambda: watch.text().count('com.acme/') == 4)
    edge.ctl('freeze', '--because', WHY)
    edge.write('a', '2')
    edge.write('b', None)
    top.write('new', '1')
    expected = {('com.acme/a', 'changed'), ('com.acme/b', 'removed'), ('com.acme/new', 'added')}
    wait_for('three changes wait', lambda: edge.waiting() == expected)
    check('nothing has changed', edge.values() == {**kept, 'com.acme/top': '1'}, edge.values())
    top.serves({'com.acme/top': '1', 'com.acme/new': '1'})
    check_seen(edge)
    check('the client was sent nothing', watch.text().count('com.acme/') == 4, watch.text())
    edge.write('a', '1')
    wait_for('what comes back waits no more', lambda: edge.waiting() == expected - {('com.acme/a', 'changed')})
    edge.write('a', '3')
    wait_for('three again', lambda: edge.waiting() == expected)
    for _ in range(2):
        edge.crash()
        edge.write('while-it-was-down', '1')
        edge.start()
        check('after kill -9 it serves what it served', edge.values() == {**kept, 'com.acme/top': '1'}, edge.values())
    wait_for('what was written meanwhile waits', lambda: ('com.acme/while-it-was-down', 'added') in edge.waiting())
    edge.ctl('thaw', '--yes')
    edge.serves({'com.acme/a': '3', 'com.acme/kept': '1', 'com.acme/top': '1', 'com.acme/new': '1',
                 'com.acme/while-it-was-down': '1'})
    check('nothing waits', edge.waiting() == set() and edge.metric('udpa_freezes') == 0)
    edge.crash()
    edge.start()
    check('nor after another', edge.values()['com.acme/a'] == '3' and edge.waiting() == set())
    said = edge.ctl('audit')
    check('the audit has who', said.count('/freeze?') == 1 and said.count('/thaw?') == 1, said)


def check_bad(node):
    node.ctl('freeze', status=MISTAKE)
    node.ctl('thaw', '--because', 'x', status=MISTAKE)
    said = node.ctl('freeze', 'Not A Name', '--because', 'x', status=REFUSED)
    check('what is no prefix is refused', 'Not A Name' in said, said)
    check('a line alone', 'one line' in node.ctl('freeze', '--because', 'a\nb', status=REFUSED))
    check('what is not frozen cannot be thawed', 'is not frozen' in node.ctl('thaw', 'com.acme', '--yes', status=REFUSED))
    for form in ('', 'because=', 'because=%zz', 'because=x&what=1', 'because=' + 'x' * 600,
                 'because=' + urllib.parse.quote('\x1b[31m')):
        status, body = node.page(f'/freeze?{form}', 'POST')
        check(f'/freeze?{form[:30]}: 400', status == 400, f'{status} {body}')
    check('nothing is frozen', json.loads(node.page('/freezes')[1])['freezes'] == [])


def body(test):
    top = Node(test, 'top', files=[('top', '1')])
    edge = Node(test, 'edge', {
        'static_resources': {'config_sources': [{'name': 'top', 'udpa': {'address': top.address}}]},
        'providers': [{'config_descriptors': [{'resource_name': 'top'}]}]},
        files=[('a', '1'), ('b', '1'), ('kept', '1')])
    check_bad(top)
    check_publishers(test, top)
    check_files(test, top, edge)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
