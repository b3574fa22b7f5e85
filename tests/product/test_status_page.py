#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages /status and /explain: what udpactl shows, as JSON, by pattern and a page at a time; who may; what cannot be
answered at once; and questions that make no sense."""
import argparse
import http.client
import json
import re
import subprocess
import sys
import urllib.parse

from product import PATIENCE_S, LocalConnection, admin_page, check, main, wait_for

STRING = 'google.protobuf.StringValue'
CLIENTS = 25
AT_A_TIME = 16
MANY = 80


def resource_of(name, value):
    return f'name: {name}\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "{value}"\n'


def source_at(name, address):
    return {'static_resources': {'config_sources': [{'name': name, 'udpa': {'address': address}}]},
            'providers': [{'config_descriptors': [{'resource_name': name}]}]}


class Node:
    def __init__(self, test, name, **config):
        self.test, self.name = test, name
        self.config = test.work / f'{name}.json'
        self.config.write_text(json.dumps({'node': {'id': name}, 'sockets': [{'address': '127.0.0.1:0'}],
                                           'store': {'in_memory': True}, **config, 'admin': {
                                               'sockets': [{'address': f'unix:{test.work}/{name}.sock'}]}}))
        self.process = test.start(name, [test.build / 'udpad', '-c', self.config])
        wait_for('the whole banner', lambda: 'names without' in self.process.text() or
                 self.process.process.poll() is not None)
        check(f'{name} runs', self.process.process.poll() is None, self.process.text())
        self.address = re.search(r'listening on ([\d.:]+)', self.process.text())[1]

    def ctl(self, *arguments, text=None):
        done = subprocess.run([str(part) for part in (
            self.test.build / 'udpactl', '--server', self.address, *arguments)], input=text,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        check(f'udpactl {" ".join(map(str, arguments))[:60]}', done.returncode == 0, done.stderr)
        return done.stdout

    def page(self, path, **form):
        query = f'?{urllib.parse.urlencode(form, quote_via=urllib.parse.quote)}' if form else ''
        return admin_page(self.process, path + query)[:2]

    def json(self, path, **form):
        status, body = self.page(path, **form)
        check(f'{path} {form}: 200', status == 200, body)
        return json.loads(body)

    def all(self, **form):
        """Of all its pages; each is as long as it may be, and the last shorter."""
        found, after = [], {}
        while True:
            answer = self.json('/status', **form, **after)
            found += answer['resources']
            if 'next' not in answer:
                return found
            check('it goes on behind the last', answer['next'] == found[-1]['name'], answer['next'])
            check('a page is full', len(answer['resources']) == int(form['limit']), len(answer['resources']))
            after = {'after': answer['next']}


def names(resources):
    return [one['name'] for one in resources]


def check_status(node, edge):
    shown = json.loads(node.ctl('get', 'node', '-o', 'json'))
    own = [one for one in node.json('/status', type='node')['resources'] if one['name'] == 'udpa.node/core/node']
    check('the node is as udpactl shows it', len(own) == 1 and own[0]['resource'].keys() == shown[0]['resource'].keys(),
          (own, shown))
    answer = node.json('/status', type='source')
    check('a node without sources', answer == {'resources': [], 'complete': True}, answer)
    sources = edge.json('/status', type='source')['resources']
    check('the source of the other', [one['resource']['name'] for one in sources] == ['core'], sources)


def check_sessions(node):
    def is_there():
        return len(node.json('/status', type='session', limit=1000)['resources']) >= CLIENTS
    wait_for('all clients', is_there)
    everything = node.all(type='session', limit=1000)
    check('sorted', names(everything) == sorted(names(everything)), names(everything))
    for limit in (1, 7, CLIENTS):
        check(f'the same by pages of {limit}', names(node.all(type='session', limit=limit)) == names(everything))
    some = everything[3]['name']
    check('one by its name', names(node.json('/status', type='session', name=some)['resources']) == [some])
    check('a pattern', names(node.all(type='session', name=f'{some[:-1]}*', limit=5)) ==
          [name for name in names(everything) if name.startswith(some[:-1])])
    check('nothing', node.json('/status', type='session', name='no*')['resources'] == [])
    check('behind the last', node.json('/status', type='session', after='~')['resources'] == [])


def check_clients(node, edge):
    """Of the whole tree, at the node and at the one below it."""
    def of_tree(one):
        return sorted(found['name'] for found in json.loads(one.ctl('clients', '--tree', '-o', 'json'))
                      if 'ofNode' not in found['resource'])
    for one in (node, edge):
        answer = one.json('/status', type='client', limit=1000)
        ids = sorted(found['resource'].get('clientId', '') for found in answer['resources'] if 'ofNode' not in found['resource'])
        expected = sorted(f'client-{i}' for i in range(CLIENTS)) if one is node else []
        check(f'{one.name}: all clients of all nodes', answer['complete'] and
              [found for found in ids if found.startswith('client-')] == expected, ids)
        check(f'{one.name}: as udpactl has them', [name for name in of_tree(one) if '/client-' in name] == [
            found['name'] for found in answer['resources'] if '/client-' in found['name']])


def check_explain(node):
    answer = node.json('/explain', type=STRING, name='com.acme/a 1')
    origins, clients = answer['origins'], answer['clients']
    check('where it comes from', origins['name'] == 'com.acme/a 1' and len(origins['contributions']) == 1, origins)
    check('who has it', answer['complete'] and int(clients.get('nAcknowledged', 0)) == CLIENTS, answer)
    node.ctl('apply', '-f', '-', text=resource_of('com.acme/a 1', 'changed'))

    def is_changed():
        now = node.json('/explain', type=f'type.googleapis.com/{STRING}', name='com.acme/a 1')
        return now['clients']['version'] != clients['version'] and int(now['clients'].get('nAcknowledged', 0)) == CLIENTS
    wait_for('the next version', is_changed)
    answer = node.json('/explain', type=STRING, name='com.acme/none')
    check('of what is not there', answer['origins'].get('contributions', []) == [] and answer['complete'], answer)


def check_mistakes(node):
    for path, form in (('/status', {}), ('/status', {'type': 'cluster'}), ('/status', {'type': 'node', 'limit': 0}),
                       ('/status', {'type': 'node', 'limit': 1001}), ('/status', {'type': 'node', 'limit': '-1'}),
                       ('/status', {'type': 'node', 'colour': 'red'}), ('/status?type=%zz', {}),
                       ('/explain', {}), ('/explain', {'type': STRING}), ('/explain', {'name': 'com.acme/a'}),
                       ('/explain', {'type': 'type.googleapis.com/', 'name': 'com.acme/a'}), ('/explain?type=a&name=%', {})):
        status, body = node.page(path, **form)
        check(f'{path} {form}', status == 400 and 'usage: ' in body, (status, body))
    for name in ('com.acme/' + 'n' * 4000, 'com.acme/a\0b'):
        status, body = node.page('/explain', type=STRING, name=name)
        check(f'{name[:12]!r}… is no name', status == 400 and 'usage' not in body, (status, body))


def check_many(node):
    """Those that it has no room for are told so; the others get all. Its end ends what waits."""
    path = re.search(r'admin socket unix:(\S+)', node.process.text())[1]

    def ask(n):
        connections = [LocalConnection(path) for _ in range(n)]
        for connection in connections:
            connection.request('GET', f'/explain?type={STRING}&name=com.acme/a%201')
        return connections

    def answers(connections):
        for connection in connections:
            try:
                answer = connection.getresponse()
                yield answer.status, answer.read().decode()
            except (OSError, http.client.HTTPException):
                yield None, ''
    found = list(answers(ask(MANY)))
    busy = [body for status, body in found if status == 503]
    check('some are told to come again', all('ask again' in body for body in busy), busy[:2])
    good = [json.loads(body) for status, body in found if status == 200]
    check('at least as many as there is room for are answered', AT_A_TIME <= len(good) == MANY - len(busy),
          (len(good), len(busy)))
    check('with all there is', all(one['complete'] and one['origins']['contributions'] and one['clients']['exists']
                                   for one in good))
    last = ask(MANY)
    node.process.process.terminate()
    check('whole answers, or none', all(status in (None, 503) or json.loads(body)['complete']
                                        for status, body in answers(last)))
    check('the node ends', node.process.process.wait(PATIENCE_S) == 0)


def check_access(test):
    rules = [{'name': 'me', 'identities': ['unix:*'], 'actions': ['SUBSCRIBE']}]
    node = Node(test, 'strict', acl={'rules': rules})
    for path in ('/status?type=node', f'/explain?type={STRING}&name=a/b'):
        status, body = node.page(path)
        check(f'without ADMIN no {path}', status == 403, (status, body))


def body(test):
    node = Node(test, 'core', workers=2)
    node.ctl('apply', '-f', '-', text=resource_of('com.acme/a 1', 'first'))
    edge = Node(test, 'edge', **source_at('core', node.address))
    for i in range(CLIENTS):
        test.start(f'client-{i}', [test.build / 'udpactl', '--server', node.address, '--node-id', f'client-{i}', 'watch',
                                   STRING])
    check_status(node, edge)
    check_sessions(node)
    check_clients(node, edge)
    check_explain(node)
    check_mistakes(node)
    check_access(test)
    check_many(node)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
