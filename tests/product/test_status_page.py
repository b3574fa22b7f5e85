#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages /status, /explain and /top: what udpactl shows, as JSON, by pattern and a page at a time; fact by fact what
explain and top print; who may; what cannot be answered at once; and questions that make no sense."""
import argparse
import http.client
import json
import re
import signal
import subprocess
import sys
import urllib.parse

from product import PATIENCE_S, LocalConnection, admin_page, check, main, wait_for
from xds_client import Client

STRING = 'google.protobuf.StringValue'
CLIENTS = 25
AT_A_TIME = 16
MANY = 100
METRICS = {'deliveries': 'udpa_deliveries_total', 'deliveryBytes': 'udpa_delivery_bytes_total', 'acks': 'udpa_acks_total',
           'nacks': 'udpa_nacks_total', 'changes': 'udpa_updates_accepted_total', 'rejectedChanges': 'udpa_updates_rejected_total'}


def resource_of(name, value):
    return f'name: {name}\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "{value}"\n'


def source_at(name, address):
    return {'static_resources': {'config_sources': [{'name': name, 'udpa': {'address': address}}]},
            'providers': [{'config_descriptors': [{'resource_name': name}]}]}


class Node:
    def __init__(self, test, name, *more, **config):
        self.test, self.name = test, name
        self.config = test.work / f'{name}.json'
        self.config.write_text(json.dumps({'node': {'id': name}, 'sockets': [{'address': '127.0.0.1:0'}],
                                           'store': {'in_memory': True}, **config, 'admin': {
                                               'sockets': [{'address': f'unix:{test.work}/{name}.sock'}]}}))
        self.process = test.start(name, [test.build / 'udpad', '-c', self.config, *more])
        wait_for('the whole banner', lambda: 'names without' in self.process.text() or
                 self.process.process.poll() is not None)
        check(f'{name} runs', self.process.process.poll() is None, self.process.text())
        self.address = re.search(r'listening on (\S+)', self.process.text())[1]
        self.server = self.address

    def ctl(self, *arguments, text=None, status=(0,)):
        done = subprocess.run([str(part) for part in (
            self.test.build / 'udpactl', '--server', self.server, '--admin',
            f'unix:{self.test.work}/{self.name}.sock', *arguments)], input=text,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        check(f'udpactl {" ".join(map(str, arguments))[:60]}', done.returncode in status, done.stderr)
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
        found = [one['resource'] for one in node.json('/status', type='session', limit=1000)['resources']]
        return len(found) >= CLIENTS and not [one for one in found if one.get('peerNodeId') == 'udpactl']
    wait_for('all clients, and that udpactl is gone', is_there)
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
    clients = answer['acknowledgements'][0]
    check('where it comes from', answer['name'] == 'com.acme/a 1' and len(answer['contributions']) == 1, answer)
    check('who has it', answer['complete'] and clients['acknowledged'] == CLIENTS, answer)
    node.ctl('apply', '-f', '-', text=resource_of('com.acme/a 1', 'changed'))

    def is_changed():
        now = node.json('/explain', type=f'type.googleapis.com/{STRING}', name='com.acme/a 1')['acknowledgements'][0]
        return now['version'] != clients['version'] and now['acknowledged'] == CLIENTS
    wait_for('the next version', is_changed)
    answer = node.json('/explain', type='cluster', name='com.acme/none')
    check('of what is not there', answer['contributions'] == [] and answer['complete'] and not answer['isServed'] and
          answer['typeUrl'].endswith('envoy.config.cluster.v3.Cluster'), answer)


def explained(node, name, client=None, *more):
    """What the page has; it is what udpactl has, as JSON and as text."""
    form, options = ({'for': client}, ('--for', client, *more)) if client else ({}, ())
    answer = node.json('/explain', type=STRING, name=name, **form)
    check(f'{name}: complete', answer.pop('complete') is True, answer)
    command = json.loads(node.ctl('explain', STRING, name, *options, '-o', 'json', status=(0, 1)))
    check(f'{name} for {client}: as udpactl has it', answer == command, (answer, command))
    text = node.ctl('explain', STRING, name, *options, status=(0, 1)).splitlines()
    check('what is so', text[0] == f'{STRING} {name} {answer["fact"]}', text)
    if client:
        check('of the client', text[1] == f'client {client} {answer["clientFact"]}', text)
    for one in answer['contributions']:
        check('each contribution, and why', any(
            line.startswith(one['origin']) and one['authority'] in line and line.endswith(one['because']) and
            ('effective' if one['isEffective'] else 'shadowed') in line for line in text), (one, text))
    for one in answer['acknowledgements'][0]['sessions']:
        check('each that lacks it, and why', one['state'] == 'acknowledged' or any(
            one['address'] in line and line.endswith(one.get('reason', '')) for line in text), (one, text))
    return answer


def upper_node(test, folder, name):
    """By the same address each time, which nobody else can have."""
    return Node(test, name, '--resources', folder, node={'id': 'upper'}, sockets=[{'address': f'unix:{test.work}/upper.grpc'}])


def guarded(test):
    """A node with rules, a directory, and a source that has lost what it had."""
    folder, upper = test.work / 'files', test.work / 'upper'
    for path, all_names in ((folder, ('local/frozen', 'local/file')), (upper, ('local/held', 'local/other', 'org.other/x'))):
        path.mkdir()
        for name in all_names:
            (path / f'{name.split("/")[1]}.yaml').write_text(resource_of(name, '1'))
    core = upper_node(test, upper, 'upper')
    local = f'unix:{test.work}/guarded.grpc'
    node = Node(test, 'guarded', '--resources', folder, **source_at('upper', core.server),
                sockets=[{'address': '127.0.0.1:0'}, {'address': local}], acl={'rules': [
                    {'name': 'all', 'identities': ['*'], 'namespaces': ['local'], 'actions': ['SUBSCRIBE']},
                    {'name': 'sources', 'identities': ['upper'], 'namespaces': ['local'], 'actions': ['PUBLISH'],
                     'on_behalf_of': ['*']},
                    {'name': 'secrets', 'identities': ['ops'], 'namespaces': ['com.secret'], 'actions': ['SUBSCRIBE']},
                    {'name': 'operators', 'identities': ['unix:*'], 'actions': ['ADMIN', 'SUBSCRIBE', 'PUBLISH'],
                     'on_behalf_of': ['*']}]})
    node.server = local
    return node, folder, upper, core


def check_each_fact(test):
    node, folder, upper, core = guarded(test)
    for name in ('local/good', 'local/file', 'com.secret/key'):
        node.ctl('apply', '-f', '-', text=resource_of(name, '2'), status=(0, 1))
    test.start('watching', [test.build / 'udpactl', '--server', node.address, '--node-id', 'good', 'watch', STRING])
    bad = Client(node.address, 'bad', f'type.googleapis.com/{STRING}')
    bad.reject('not to my taste')
    wait_for('all', lambda: all(node.json('/explain', type=STRING, name=f'local/{name}')['isServed']
                                for name in ('held', 'frozen', 'file')))

    def facts(client, beginning):
        def is_so():
            return node.json('/explain', type=STRING, name='local/good', **{'for': client})['clientFact'].startswith(beginning)
        wait_for(f'{client}: {beginning}', is_so)
        return explained(node, 'local/good', client)
    found = facts('good', 'has it')
    check('it has it', found['clientFact'] == "has it; rule 'all' lets it see it" and found['access']['isAllowed'] and
          found['access']['rule'] == 'all' and found['clientSession'], found)
    found = facts('bad', 'rejected')
    check('it has rejected it', found['clientFact'] == "rejected: not to my taste; rule 'all' lets it see it", found)
    found = explained(node, 'com.secret/key', 'good')
    check('it may not see it', '; it may not see it: ' in found['clientFact'] and found['access']['hasRules'] and
          not found['access']['isAllowed'] and found['access']['reason'] in found['clientFact'], found)
    found = explained(node, 'com.secret/key', 'ops')
    check('a stranger may', found['clientFact'] == "does not subscribe to it; rule 'secrets' lets it see it" and
          found['clientSession'] == '', found)
    found = explained(node, 'local/file')
    check('two have it', [one['isEffective'] for one in found['contributions']] == [True, False] and
          found['contributions'][0]['because'] != found['contributions'][1]['because'], found)
    found = explained(node, 'local/none')
    check('nobody has it', found['fact'] == 'is not served: no origin has it; the node has rejected resources of upper (1): its log '
          'says which, and why' and found['rejectedOf'] == 'upper (1)' and not found['isServed'], found)
    node.ctl('freeze', 'local', '--because', 'incident 4711')
    new = test.work / 'new'
    new.write_text(resource_of('local/frozen', '3'))
    new.rename(folder / 'frozen.yaml')
    found = wait_for('a change that waits', lambda: (lambda one: one['frozen'] and one)(
        node.json('/explain', type=STRING, name='local/frozen'))) and explained(node, 'local/frozen')
    check('it waits, and why', 'incident 4711' in found['frozen'] and f'; a change waits: {found["frozen"]}' in found['fact'] and
          'frozen' in found['contributions'][0]['because'], found)
    node.ctl('thaw', 'local', '--yes')
    check_held(test, node, upper, core)


def check_held(test, node, upper, core):
    """The node above comes back without what it had: the one below holds it."""
    core.process.process.kill()
    core.process.process.wait()
    (upper / 'held.yaml').unlink()
    upper_node(test, upper, 'upper-again')
    wait_for('what is held', lambda: any(int(one.get('held', 0)) for source in node.json('/status', type='source')['resources']
                                         for one in source['resource'].get('types', [])))
    found = explained(node, 'local/held', 'good', '--timeout', '1')
    check('it is served', found['isServed'] and found['clientFact'].startswith('has it'), found)
    why = 'its store is not the one that it had before'
    check('it is held, and why, and what to do', [(one['isHeld'], one['heldBecause']) for one in found['contributions']] ==
          [(True, why)] and found['fact'].endswith(f'; it is held: upper does not name it any more, and has not removed it: {why}; '
                                                   'if it is meant to be removed: udpactl sources accept upper'), found)
    found = explained(node, 'local/other')
    check('that one is not', not found['contributions'][0]['isHeld'] and 'held' not in found['fact'], found)
    node.ctl('sources', 'accept', 'upper')
    wait_for('its end', lambda: not node.json('/explain', type=STRING, name='local/held')['isServed'])


def check_held_files(test):
    """A directory that has lost most of what it had: as a source."""
    folder = test.work / 'lost'
    folder.mkdir()
    for i in range(20):
        (folder / f'{i}.yaml').write_text(resource_of(f'local/{i}', '1'))
    node = Node(test, 'files', '--resources', folder)
    wait_for('all', lambda: node.json('/explain', type=STRING, name='local/19')['isServed'])
    for i in range(1, 20):
        (folder / f'{i}.yaml').unlink()
    wait_for('what is held', lambda: node.json('/explain', type=STRING, name='local/19')['contributions'][0]['isHeld'])
    found = explained(node, 'local/19')
    check('why, and what to do', found['contributions'][0]['heldBecause'] == 'more is missing at once than max_withdrawal allows' and
          found['fact'].endswith(f'udpactl sources accept {folder}'), found)
    check('what is there is not held', not explained(node, 'local/0')['contributions'][0]['isHeld'])
    node.ctl('sources', 'accept', folder)
    wait_for('its end', lambda: not node.json('/explain', type=STRING, name='local/19')['isServed'])


def check_groups(test):
    """What a client group does not see its clients do not get, whatever else is right."""
    node = Node(test, 'groups', audiences=[
        {'name': 'shops', 'match': {'node_ids': ['shop-*']}, 'default_namespace': 'com.shop', 'namespaces': ['com.common']},
        {'name': 'each', 'default_namespace': 'com.each/{node_id}'}])
    for name in ('com.shop/a', 'com.common/a', 'com.each/one/a'):
        node.ctl('apply', '-f', '-', text=resource_of(name, '1'))
    clients = [Client(node.address, name, f'type.googleapis.com/{STRING}') for name in ('shop-1', 'one')]
    clients[0].reject('no')

    def group_of(name, client):
        wait_for('its session', lambda: 'clientGroup' in node.json('/explain', type=STRING, name=name, **{'for': client}))
        found = explained(node, name, client)
        return found['clientGroup'], found['clientFact'].split('; ')[1]
    shops = {'name': 'shops', 'namespaces': ['com.shop', 'com.common']}
    for name in ('com.shop/a', 'com.common/a'):
        check(f'it sees {name}', group_of(name, 'shop-1') == ({**shops, 'isVisible': True}, "its client group 'shops' sees it"))
    check('it does not see that', group_of('com.each/one/a', 'shop-1') == (
        {**shops, 'isVisible': False}, "its client group 'shops' does not see this namespace, but com.shop, com.common"))
    check('of a group for each', group_of('com.each/one/a', 'one') == (
        {'name': 'each', 'namespaces': ['com.each/one'], 'isVisible': True}, "its client group 'each' sees it"))
    check('and not of others', group_of('com.each/two/a', 'one') == (
        {'name': 'each', 'namespaces': ['com.each/one'], 'isVisible': False},
        "its client group 'each' does not see this namespace, but com.each/one"))
    check('a stranger has none', 'clientGroup' not in explained(node, 'com.shop/a', 'stranger'))


def check_waiting(test):
    """A node that has never reached its source cannot know."""
    node = Node(test, 'waiting', **source_at('nowhere', '127.0.0.1:1'))
    found = explained(node, 'local/a', 'somebody', '--timeout', '1')
    check('it waits', found['waitsFor'] == 'nowhere' and 'the node still waits for nowhere, which may have it' in found['fact'] and
          found['clientFact'] == 'does not subscribe to it; the node has no rules, so every peer may see it', found)


def check_top(node):
    def counted():
        status, body = node.page('/metrics')
        check('metrics', status == 200, body)
        return {key: sum(float(value) for value in re.findall(rf'^{name}(?:{{.*}})? (\S+)$', body, re.M))
                for key, name in METRICS.items()}
    before = counted()
    answer = node.json('/top')
    check('it is complete at once', answer['complete'] and 0.9 < answer['seconds'] < 10, answer)
    check('rates and totals', answer['perSecond'].keys() == answer['total'].keys() == METRICS.keys(), answer)
    node.ctl('apply', '-f', '-', text=resource_of('local/top', 'again'))

    def is_counted():
        now = node.json('/top')
        return now['perSecond']['acks'] >= CLIENTS / 10 and now['perSecond']['changes'] > 0 and now
    now = wait_for('the rate of what has changed', is_counted)
    check('since the start', all(before[key] <= now['total'][key] <= counted()[key] for key in METRICS), (before, now))
    check('a change took a time', 0 < now['times']['propagationP99'] < PATIENCE_S and 'loopTurnP99' in now['timesSinceStart'])
    check('streams and clients', now['streams']['udpa'] >= CLIENTS == now['nClients'] and now['clients'] == [], now)
    printed = json.loads(node.ctl('top', '-o', 'json', '--once'))
    check('udpactl prints it', printed.keys() == now.keys() and printed['node'] == 'core' and printed['seconds'] > 0.9, printed)
    table = node.ctl('top', '--once')
    streams = re.search(r'^STREAMS  udpa (\d+)$', table, re.M) # with what udpactl has just asked by
    check('and has the same in tables', f'version {now["version"]}, up ' in table and streams and int(streams[1]) >= CLIENTS and
          f'all of {CLIENTS} streams are synchronized' in table, table)
    bad = [Client(node.address, f'bad-{i}', f'type.googleapis.com/{STRING}') for i in range(3)]
    for one in bad[1:]:
        one.reject('no')
    worst = wait_for('the worst', lambda: (lambda now: sum(one['nacks'] for one in now['clients']) == 2 and now)(node.json('/top')))
    check('the worst first', [one['rejectsNow'] for one in worst['clients']] == [1, 1, 0] and
          worst['clients'][2]['client'] == 'bad-0' and worst['clients'][2]['notAnswered'] == 1 and
          worst['nClients'] == CLIENTS + 3, worst)
    check('so many', len(node.json('/top', limit=1)['clients']) == 1)


def check_mistakes(node):
    for path, form in (('/status', {}), ('/status', {'type': 'cluster'}), ('/status', {'type': 'node', 'limit': 0}),
                       ('/status', {'type': 'node', 'limit': 1001}), ('/status', {'type': 'node', 'limit': '-1'}),
                       ('/status', {'type': 'node', 'colour': 'red'}), ('/status?type=%zz', {}),
                       ('/explain', {}), ('/explain', {'type': STRING}), ('/explain', {'name': 'com.acme/a'}),
                       ('/explain', {'type': 'type.googleapis.com/', 'name': 'com.acme/a'}), ('/explain?type=a&name=%', {}),
                       ('/explain', {'type': f'{STRING}\0', 'name': 'com.acme/a'}),
                       ('/explain', {'type': STRING, 'name': 'com.acme/a', 'for': 'a\0b'}),
                       ('/explain', {'type': STRING, 'name': 'com.acme/a', 'limit': 1}),
                       ('/explain?type=a.b&name=com.acme/a&for=%f', {}), ('/status', {'type': 'node', 'for': 'a'}),
                       ('/top', {'limit': 0}), ('/top', {'limit': 101}), ('/top', {'limit': 'x'}), ('/top', {'name': 'a'}),
                       ('/top?%', {})):
        status, body = node.page(path, **form)
        check(f'{path} {form}', status == 400 and 'usage: ' in body, (status, body))
    for form in ({'name': 'com.acme/' + 'n' * 4000}, {'name': 'com.acme/a\0b'}, {'type': 'clusteer'}, {'type': 't.' * 600},
                 {'for': 'c' * 4000}, {'for': '/' * 400}):
        status, body = node.page('/explain', **{'type': STRING, 'name': 'com.acme/a', **form})
        check(f'{str(form)[:30]}… is none', status == 400 and 'usage' not in body, (status, body))
    answer = node.json('/explain', type='no.such.Type', name='com.acme/a', **{'for': 'client/1 ü"'})
    check('of what is not known', answer['complete'] and not answer['isServed'] and answer['client'] == 'client/1 ü"', answer)
    check('empty parts', node.json('/explain?&&type=cluster&name=com.acme%2fa&for=&')['complete'])


def check_many(node):
    """Those that it has no room for are told so; the others get all. Its end ends what waits."""
    path = re.search(r'admin socket unix:(\S+)', node.process.text())[1]

    paths = ('/explain?type={0}&name=com.acme/a%201', '/explain?type={0}&name=com.acme/a%201&for=client-1', '/top',
             '/status?type=session')

    def ask():
        connections = [LocalConnection(path) for _ in range(MANY)]
        for i, connection in enumerate(connections):
            connection.request('GET', paths[i % len(paths)].format(STRING))
        return connections

    def answers(connections):
        for connection in connections:
            try:
                answer = connection.getresponse()
                yield answer.status, answer.read().decode()
            except (OSError, http.client.HTTPException):
                yield None, ''
    found = list(answers(ask()))
    busy = [body for status, body in found if status == 503]
    check('some are told to come again', all('ask again' in body for body in busy), busy[:2])
    good = [json.loads(body) for status, body in found if status == 200]
    check('at least as many as there is room for are answered', AT_A_TIME <= len(good) == MANY - len(busy),
          (len(good), len(busy)))
    check('with all there is', all(one['complete'] for one in good) and
          all(one['isServed'] and one['acknowledgements'][0]['exists'] for one in good if 'isServed' in one))
    last = ask()
    node.process.process.send_signal(signal.SIGINT)
    check('whole answers, or none', all(status in (None, 503) or json.loads(body)['complete']
                                        for status, body in answers(last)))
    check('the node ends', node.process.process.wait(PATIENCE_S) == 0)


def check_access(test):
    rules = [{'name': 'me', 'identities': ['unix:*'], 'actions': ['SUBSCRIBE']}]
    node = Node(test, 'strict', acl={'rules': rules})
    for path in ('/status?type=node', f'/explain?type={STRING}&name=a/b', '/top'):
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
    check_each_fact(test)
    check_held_files(test)
    check_groups(test)
    check_waiting(test)
    check_top(node)
    check_mistakes(node)
    check_access(test)
    check_many(node)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
