#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bootstrap file that is read again: all that differs becomes effective, or nothing does; what would go is counted
before; and a client whose resources do not change receives nothing."""
import argparse
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

from product import PATIENCE_S, admin_page, check, main, wait_for

TYPE = 'type.googleapis.com/google.protobuf.StringValue'
REFUSED = 1
LINGER_S = 2


class Node:
    def __init__(self, test, name, **more):
        self.test, self.name, self.path = test, name, test.work / f'{name}.json'
        self.config = {'sockets': [{'address': '127.0.0.1:0'}], 'store': {'directory': f'{test.work}/{name}-data'},
                       'reload': 'SIGNAL', **more}
        self.write()
        self.process = test.start(name, [test.build / 'udpad', '-c', self.path])
        line = self.process.wait_for_log('listening on ')
        self.address = re.search(r'listening on ([^\s,]+)', line).group(1)
        self.admin = self.process.wait_for_log('admin socket unix:').split('admin socket ')[1].split(' ')[0]

    def write(self, text=None):
        """As editors do: another file takes the place."""
        new = self.path.with_suffix('.new')
        new.write_text(text or json.dumps(self.config), encoding='utf-8')
        new.replace(self.path)

    def run(self, *arguments):
        return subprocess.run([str(part) for part in (self.test.build / 'udpactl', '--server', self.address, '--admin',
                                                      self.admin, *arguments)],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def ctl(self, *arguments):
        done = self.run(*arguments)
        check(f'udpactl {" ".join(arguments)}', done.returncode == 0, done.stderr)
        return done.stdout

    def reload(self, *arguments):
        return json.loads(self.ctl('reload', '-o', 'json', *arguments))

    def names(self):
        done = self.run('get', TYPE, '-o', 'name')
        return {line.split('/', 1)[1] for line in done.stdout.split()}

    def metric(self, name):
        text = admin_page(self.process, '/metrics')[1]
        found = re.search(rf'^{re.escape(name)} (\S+)$', text, re.M)
        return float(found[1]) if found else None

    def readyz(self):
        return admin_page(self.process, '/readyz?verbose')[1]

    def problems(self):
        return self.ctl('status')

    def end(self):
        check('it ends', self.test.interrupt(self.process) == 0, self.process.text()[-3000:])


def directory(test, name, *names):
    path = test.work / name
    path.mkdir(exist_ok=True)
    for one in names:
        put(path, one, 'x')
    return {'path': str(path), 'namespace': 'com.acme'}


def put(path, name, value):
    (path / f'{name}.json').write_text(json.dumps({'name': name, 'resource': {'@type': TYPE, 'value': value}}))


def check_values(test):
    """Limits, times and the log: those of the file, under those of the runtime."""
    node = Node(test, 'values', log={'level': 'INFO'}, runtime={'layers': [
        {'name': 'base', 'staticLayer': {'udpa': {'limits': {'max_views': 77}}}}, {'name': 'admin', 'adminLayer': {}}]})
    check('nothing has changed', node.reload()['changes'] == [])
    log = test.work / 'values-other.log'
    node.config['limits'] = {'maxStreams': 900, 'maxViews': 88, 'maxClientGroups': 5, 'maxMessageBytesFromClients': 5000}
    node.config['timing'] = {'connectGrace': '3s', 'maxStreamAge': '3600s', 'drainTime': '2s'}
    node.config['push'] = [{'debounce': '0.1s'}]
    node.config['node'] = {'cluster': 'x'}
    node.config['log'] = {'level': 'DEBUG', 'format': 'JSON', 'to': str(log)}
    node.write()
    shown = node.reload('--dry-run')
    check('a dry run shows all of it', set(shown['changes']) == {'limits', 'timing', 'push', 'log.level', 'log.format', 'log.to'} and
          shown['restart'] == ['node'], shown)
    check('and changes nothing', not log.exists() and 'limits' not in json.loads(node.ctl('config', '-o', 'json'))['bootstrap'])
    words = node.ctl('reload', '--dry-run')
    check('in words', 'log.level: would change\n' in words and 'node: takes a restart\n' in words and
          words.endswith('Nothing is changed: 0 of 0 resources would be withdrawn, with 0 streams of clients\n'), words)
    node.reload()
    text = wait_for('the log goes where it should', lambda: log.exists() and log.read_text())
    check('as JSON', all(json.loads(line) for line in text.splitlines()), text)
    text = node.process.text()
    check('values of the runtime are above those of the file', 'max_streams is 900 now' in text and
          'connect_grace_ms is 3000 now' in text and text.count('max_views is') == 1 and 'log.level is debug now' in text.lower(), text)
    config = json.loads(node.ctl('config', '-o', 'json'))
    check('what takes a restart is as it was', config['restart_needed'] == 'node' and
          'node' not in config['bootstrap'] and config['bootstrap']['limits']['maxClientGroups'] == 5 and
          config['bootstrap']['limits']['maxStreams'] == 900, config)
    check('that is in the status', 'takes a restart until this is effective: node' in node.problems())
    done = subprocess.run([str(test.build / 'udpactl'), '--server', node.address, 'apply', '-f', '-'], input=json.dumps(
        {'name': 'com.acme/large', 'resource': {'@type': TYPE, 'value': 'x' * 9000}}), capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    check('messages are bounded otherwise', done.returncode != 0 and 'max_message_bytes' in done.stderr, done)
    del node.config['limits'], node.config['timing'], node.config['push'], node.config['node']
    node.config['log'] = {}
    node.write()
    node.process.process.send_signal(signal.SIGHUP)
    check('what is omitted has its default again', wait_for('a healthy node', lambda: 'takes a restart' not in
                                                            node.problems()))
    node.end()


def check_directories(test):
    a, b, c = directory(test, 'a', *'one two three'.split()), directory(test, 'b', 'four'), directory(test, 'c', 'five')
    node = Node(test, 'directories', static_resources={'directories': [a, b]}, limits={'maxWithdrawal': '50%'})
    wait_for('what there is', lambda: node.names() == {f'com.acme/{one}' for one in 'one two three four'.split()})
    node.config['static_resources']['directories'] = [a, c]
    node.write()
    shown = node.reload('--dry-run')
    check('what would come and go', shown['directories'] == [{'path': c['path'], 'change': 'added'},
                                                             {'path': b['path'], 'change': 'removed'}] and
          shown['withdrawn'] == 1 and shown['changes'] == ['static_resources.directories'], shown)
    check('nothing has', 'com.acme/four' in node.names())
    node.reload()
    wait_for('it comes and goes', lambda: node.names() == {f'com.acme/{one}' for one in 'one two three five'.split()})
    put(test.work / 'c', 'six', 'x')
    wait_for('what was added is followed', lambda: 'com.acme/six' in node.names())
    put(test.work / 'b', 'seven', 'x')
    c['namespace'] = 'com.other'
    node.write()
    shown = node.reload()
    check('an edited one', shown['directories'] == [{'path': c['path'], 'change': 'edited'}] and shown['withdrawn'] == 2, shown)
    wait_for('has other names', lambda: {'com.other/five', 'com.other/six'} <= node.names() and
             'com.acme/five' not in node.names())
    check('what is gone is not followed', 'com.acme/seven' not in node.names())
    check_bounds(test, node)
    node.end()


def check_bounds(test, node):
    many = directory(test, 'many', *(f'r{i}' for i in range(40)))
    node.config['static_resources']['directories'].append(many)
    node.write()
    node.reload()
    wait_for('many are there', lambda: len(node.names()) == 45)
    node.config['static_resources']['directories'].pop()
    node.write()
    done = node.run('reload')
    check('too much would go', done.returncode == REFUSED and '40 of 4' in done.stderr and '--force' in done.stderr and
          len(node.names()) == 45, done)
    check('that is in the status', 'would be withdrawn' in node.problems())
    moved = test.work / 'moved'
    os.rename(many['path'], moved)
    os.symlink(moved, many['path'])
    node.config['static_resources']['directories'].append({**many, 'path': str(moved)})
    node.write()
    watch = Watch(node)
    wait_for('a client has all', lambda: len(watch.lines()) == 45)
    shown = node.reload()
    check('what has only moved stays', shown['withdrawn'] == 0 and len(node.names()) == 45, (shown, node.names()))
    node.config['static_resources']['directories'].pop()
    node.write()
    check('and the client has received nothing', len(watch.lines()) == 45, watch.lines()[45:])
    watch.process.kill()
    check('by force', node.reload('--force')['withdrawn'] == 40)
    wait_for('they go', lambda: len(node.names()) == 5)


def check_errors(test):
    """A file with an error, and its repair."""
    a = directory(test, 'errors', 'one')
    node = Node(test, 'errors', static_resources={'directories': [a]}, acl={'rules': [
        {'name': 'all', 'identities': ['unix:*', '*'], 'actions': ['ADMIN', 'SUBSCRIBE']}]}, reload='WATCH')
    loaded = node.metric('udpa_configuration_loaded_timestamp_seconds')
    check('loaded', loaded and node.metric('udpa_configuration_rejected_timestamp_seconds') == 0)
    good = json.dumps(node.config)
    for what, text, where in (
            ('half a file', good[:-30], ''),
            ('a slip', good.replace('"rules"', '"rulse"'), ':1:'),
            ('no directory', good.replace('errors"', 'nowhere"'), 'nowhere'),
            ('a bad value', good.replace('"acl"', '"workers": 5000, "acl"'), 'workers')):
        node.write(text)
        line = wait_for(what, lambda where=where: next((line for line in node.readyz().splitlines() if line.startswith(
            'configuration: degraded: the configuration stays as it was: ') and f'{node.path}:1:' in line and where in line), None))
        check(f'{what}: the log has it once', wait_for('it', lambda text=line: node.process.text().count(
            text.split('degraded: ')[1])) == 1, line)
        done = node.run('reload')
        check(f'{what}: udpactl says so', done.returncode == REFUSED and f'{node.path}:1:' in done.stderr, done)
    since = node.metric('udpa_configuration_rejected_timestamp_seconds')
    check('since when', since and since >= loaded - 1, since)
    check('what there was is there', node.names() == {'com.acme/one'})
    node.write(good)
    wait_for('it is fixed', lambda: 'configuration: ok' in node.readyz())
    time.sleep(1.1)  # metrics are made once a second
    check('then', node.metric('udpa_configuration_rejected_timestamp_seconds') == 0 and
          node.metric('udpa_configuration_reloads_total{outcome="rejected"}') >= 4)
    node.end()


def check_sources(test):
    """A source that has moved keeps what it has brought; clients receive nothing."""
    a = directory(test, 'above', *(f's{i}' for i in range(5)))
    first = Node(test, 'first', node={'id': 'above', 'authority': 'acme'}, static_resources={'directories': [a]})
    second = Node(test, 'second', node={'id': 'above2', 'authority': 'acme'}, static_resources={'directories': [a]})
    source = {'name': 'above', 'udpa': {'address': first.address}}
    node = Node(test, 'below', static_resources={'config_sources': [source]}, providers=[
        {'types': ['google.protobuf.StringValue'], 'config_descriptors': [{'resource_name': 'above'}]}])
    watch = Watch(node)
    wait_for('it has all', lambda: len(watch.lines()) == 5)
    source['udpa']['address'] = '127.0.0.1:1'
    node.write()
    shown = node.reload()
    check('a source moves', shown['changes'] == ['static_resources.config_sources'] and shown['restart'] == [], shown)
    wait_for('it is not there', lambda: '127.0.0.1:1' in node.ctl('status', 'sources', '-o', 'json') and
             'refused' in node.ctl('status', 'sources', '-o', 'json'))
    check('what it has brought is', len(watch.lines()) == 5 and len(node.names()) == 5, watch.lines())
    first.end()
    source['udpa']['address'] = second.address
    node.write()
    node.reload()
    put(test.work / 'above', 's9', 'x')
    wait_for('what is new comes', lambda: len(watch.lines()) == 6)
    check('and nothing else', 's9' in watch.lines()[5], watch.lines()[5:])
    watch.process.kill()
    node.end()
    second.end()


def check_source_list(test):
    """Sources come, go and are edited: one that stays keeps its stream, one that goes is void after interest_linger."""
    a, b = directory(test, 'list-a', *(f'a{i}' for i in range(20))), directory(test, 'list-b', *(f'b{i}' for i in range(6)))
    first = Node(test, 'list-first', node={'id': 'first', 'authority': 'first'}, static_resources={'directories': [a]})
    second = Node(test, 'list-second', node={'id': 'second', 'authority': 'second'}, static_resources={'directories': [b]})
    files = test.work / 'list-files'
    files.mkdir()
    for name in ('f0', 'f1'):
        (files / f'{name}.json').write_text(json.dumps({'name': f'com.acme/{name}', 'resource': {'@type': TYPE, 'value': 'x'}}))
    node = Node(test, 'list', timing={'interestLinger': f'{LINGER_S}s'})
    check('nothing is there', node.names() == set())

    def configure(*sources):
        node.config['static_resources'] = {'config_sources': list(sources)}
        node.config['providers'] = [{'types': ['google.protobuf.StringValue'], 'config_descriptors': [
            {'resource_name': source['name'], 'continuation': 'CONTINUE'} for source in sources]}] if sources else []
        node.write()
    one, two = ({'name': name, 'udpa': {'address': peer.address}} for name, peer in (('one', first), ('two', second)))
    configure(one)
    shown = node.reload()
    check('one is added', shown['sources'] == [{'name': 'one', 'change': 'added'}] and shown['restart'] == [], shown)
    wait_for('it brings what it has', lambda: len(node.names()) == 20)
    watch = Watch(node)
    wait_for('a client has that', lambda: len(watch.lines()) == 20)

    def connects():
        return [node.metric(f'udpa_source_connects_total{{source="{name}"}}') for name in ('one', 'two')]
    configure(one, two)
    check('another', node.reload()['sources'] == [{'name': 'two', 'change': 'added'}])
    wait_for('it brings more', lambda: len(node.names()) == 26 and len(watch.lines()) == 26)
    one['max_withdrawal'] = '30%'
    configure(two, one, {'name': 'files', 'path': {'path': str(files), 'authority': 'files'}})
    shown = node.reload('--dry-run')
    check('what would change', shown['sources'] == [{'name': 'one', 'change': 'edited'}, {'name': 'files', 'change': 'added'}] and
          'source files: added\n' in node.ctl('reload', '--dry-run'), shown)
    check('nothing has', len(node.names()) == 26 and 'files' not in node.ctl('status', 'sources'))
    node.reload()
    wait_for('files, too', lambda: len(node.names()) == 28)
    put(test.work / 'list-b', 'b6', 'x')
    wait_for('the streams go on', lambda: 'com.acme/b6' in node.names())
    time.sleep(1.1)  # metrics are made once a second
    check('and are those that there were', connects() == [1, 1], connects())
    node.config['limits'] = {'maxWithdrawal': '20%'}
    configure(two)
    done = node.run('reload')
    check('too much would go', done.returncode == REFUSED and ': 22 of ' in done.stderr and len(node.names()) == 29, done)
    node.config['limits'] = {'maxWithdrawal': '80%'}
    node.write()
    begun = time.monotonic()
    shown = node.reload()
    check('within bounds', shown['withdrawn'] == 22, shown)
    n = len(watch.lines())
    check('nothing has gone yet', n == 29 or time.monotonic() - begun >= LINGER_S, watch.lines()[29:])
    wait_for('after a while it has', lambda: node.names() == {f'com.acme/b{i}' for i in range(7)})
    check('of the rest a client has received nothing', len(watch.lines()) == 51 and all(
        'removed' in line for line in watch.lines()[29:]), watch.lines()[29:])
    node.end()
    second.end()
    again = Node(test, 'list', limits={'maxWithdrawal': '80%'}, static_resources=node.config['static_resources'],
                 providers=node.config['providers'])
    check('so it is kept', again.names() == {f'com.acme/b{i}' for i in range(7)}, again.names())
    again.end()
    first.end()


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def answers(address):
    if address.startswith('unix:'):
        family, where = socket.AF_UNIX, address[5:]
    else:
        family, where = socket.AF_INET, ('127.0.0.1', int(address.rsplit(':', 1)[1]))
    with socket.socket(family) as one:
        one.settimeout(PATIENCE_S)
        return one.connect_ex(where) == 0


def check_sockets(test):
    """Sockets come, go and are edited: streams of those that stay are not touched, those of others end one by one."""
    a = directory(test, 'sockets', *(f'r{i}' for i in range(3)))
    node = Node(test, 'sockets', static_resources={'directories': [a]}, timing={'drainTime': '1s'})
    first = node.address
    second, path = f'127.0.0.1:{free_port()}', f'unix:{test.work}/other.sock'
    node.config['sockets'] += [{'address': second}, {'address': path}]
    node.write()
    shown = node.reload('--dry-run')
    check('two would come', shown['sockets'] == [{'address': second, 'change': 'added'}, {'address': path, 'change': 'added'}] and
          shown['restart'] == [] and not answers(second), shown)
    node.reload()
    check('they are there', answers(first) and answers(second) and answers(path))
    watches = [Watch(node, f'{i}') for i in range(12)]
    node.address = second
    alone = Watch(node, 'alone')
    for watch in (*watches, alone):
        wait_for('a client has all', lambda watch=watch: len(watch.lines()) == 3)
    taken = socket.create_server(('127.0.0.1', 0))
    node.config['sockets'][1] = {'address': f'127.0.0.1:{taken.getsockname()[1]}'}
    node.write()
    done = node.run('reload')
    check('one that cannot be bound changes nothing', done.returncode == REFUSED and 'cannot listen' in done.stderr and
          answers(second), done)
    taken.close()
    del node.config['sockets'][1]
    node.write()
    shown = node.reload('--dry-run')
    check('one stream would end', (shown['ended_streams'], shown['streams']) == (1, 13) and
          '; 1 of 13 streams would be ended\n' in node.ctl('reload', '--dry-run'), shown)
    node.reload()
    wait_for('it does not listen any more', lambda: not answers(second))
    wait_for('its client is told', lambda: 'does not listen here any more' in alone.process.text())
    node.address = first
    node.config['sockets'][0]['max_message_bytes'] = 100000
    node.write()
    done = node.run('reload')
    check('too many would end', done.returncode == REFUSED and '12 of 12 streams would be ended' in done.stderr and
          '--force' in done.stderr, done)
    check('none has', all(len(watch.lines()) == 3 and watch.process.process.poll() is None for watch in watches))
    node.config['sockets'][1]['max_message_bytes'] = 200000
    node.write()
    shown = node.reload('--force')
    check('by force', shown['sockets'] == [{'address': '127.0.0.1:0', 'change': 'edited'},
                                           {'address': path, 'change': 'edited'}] and shown['ended_streams'] == 12, shown)
    check('it listens there all the time', answers(first) and answers(path))
    wait_for('all have ended', lambda: all('does not listen here any more' in watch.process.text() for watch in watches))
    check('and it does', answers(first) and answers(path) and len(node.names()) == 3)
    for watch in (*watches, alone):
        watch.process.kill()
    node.config['sockets'] = [{'address': '127.0.0.1:0'}]
    node.write()
    node.reload()
    wait_for('a file of a socket goes with it', lambda: not os.path.exists(path[5:]))
    node.end()


def check_socket_certificates(test):
    """A socket with TLS that is added is followed; other files for one that stays leave its streams."""
    one, two = Authority(test, 'socket-ca1'), Authority(test, 'socket-ca2')
    node = Node(test, 'tls', store={'in_memory': True}, admin={'sockets': [{'address': f'unix:{test.work}/tls-admin.sock'}]})
    address = f'127.0.0.1:{free_port()}'

    def serves(authority):
        context = ssl.create_default_context(cafile=str(authority.folder / 'ca.crt'))
        context.set_alpn_protocols(['h2'])
        try:
            with socket.create_connection(('127.0.0.1', int(address.rsplit(':', 1)[1])), PATIENCE_S) as plain:
                with context.wrap_socket(plain, server_hostname='localhost'):
                    return True
        except ssl.SSLError:
            return False
    node.config['sockets'].append({'address': address, 'tls': one.server()})
    node.write()
    node.reload()
    check('TLS', serves(one) and not serves(two))
    node.config['sockets'][1]['tls'] = two.server()
    node.write()
    shown = node.reload()
    check('other files', shown['sockets'] == [], shown)
    wait_for('they are used', lambda: serves(two) and not serves(one))
    for name in ('server.crt', 'server.key'):
        new = two.folder / f'{name}.new'
        new.write_bytes((one.folder / name).read_bytes())
        new.chmod(0o600)
        new.replace(two.folder / name)
    wait_for('and followed', lambda: serves(one))
    node.end()


def check_write_files(test):
    """Directories that are written come and go with the file; what they have stays."""
    a = directory(test, 'written-from', 'one')
    outs = [test.work / f'written{i}' for i in range(2)]
    for out in outs:
        out.mkdir()
    node = Node(test, 'writing', static_resources={'directories': [a]}, shim={'default_namespace': 'com.acme'})

    def configure(*formats):
        node.config['write_files'] = [{'directory': str(out), 'types': [TYPE.split('/')[1]], 'format': name}
                                      for out, name in zip(outs, formats) if name]
        node.write()

    def written(out):
        return sorted(path.name for path in out.rglob('*') if path.is_file() and not path.name.startswith('.'))
    configure('JSON')
    shown = node.reload('--dry-run')
    check('one would be written', shown['changes'] == ['write_files'] and shown['restart'] == [] and not written(outs[0]), shown)
    node.reload()
    wait_for('it is', lambda: len(written(outs[0])) == 1)
    configure('JSON', 'YAML')
    node.reload()
    wait_for('another', lambda: len(written(outs[1])) == 1)
    before = written(outs[0])
    for n in range(5):  # the plan that the first one borrows from is not the present one any more
        node.config['limits'] = {'maxStreams': 100 + n}
        node.write()
        node.reload()
    put(test.work / 'written-from', 'two', 'x')
    wait_for('both are kept up to date', lambda: len(written(outs[0])) == len(written(outs[1])) == 2 and
             set(before) < set(written(outs[0])))
    configure(None, 'JSON')
    node.reload()
    put(test.work / 'written-from', 'three', 'x')
    wait_for('in another format', lambda: sum(name.endswith('.json') for name in written(outs[1])) == 3)
    check('what is not written any more stays as it was', len(written(outs[0])) == 2, written(outs[0]))
    node.end()


def check_audit_files(test):
    """Where the audit goes changes without a gap: each record is in one of the files, in its order."""
    node = Node(test, 'audited')
    files = [test.work / f'audit{i}.log' for i in range(2)]

    def reload(**audit):
        node.config['audit'] = audit
        node.write()
        check('it is taken over', node.reload()['restart'] == [])

    def numbers(file):
        return [json.loads(line)['seq'] for line in file.read_text().splitlines()] if file.exists() else []

    def last():
        return max(record['seq'] for record in json.loads(node.ctl('audit', '-o', 'json')))
    node.ctl('reload')
    reload(file=str(files[0]))
    wait_for('all records so far, the file being the first', lambda: numbers(files[0]) and numbers(files[0])[-1] == last())
    reload(file=str(files[1]), max_age='7200s')
    wait_for('the rest in another', lambda: node.ctl('reload') and numbers(files[1]))
    wait_for('none is missing, and none is twice', lambda: numbers(files[0]) + numbers(files[1]) == list(range(1, last() + 1)))
    done = subprocess.run([str(test.build / 'udpactl'), 'audit', 'verify', *map(str, files)], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    check('the chain goes from the one into the other', done.returncode == 0, done)
    reload()
    n = len(numbers(files[1]))
    node.ctl('reload')
    reload(file=str(files[1]))
    wait_for('what came meanwhile is added', lambda: numbers(files[1])[-1] == last() and len(numbers(files[1])) > n + 1)
    node.config['audit'] = {'file': '/proc/no/audit.log'}
    node.write()
    check('one that cannot be written is an error', '/proc/no' in node.run('reload').stderr)
    node.end()


class Authority:
    """Certificates of a server, by an authority of their own."""

    def __init__(self, test, name):
        self.folder = test.work / name
        subprocess.run([str(test.arguments.ca), str(self.folder), 'server'], check=True, capture_output=True)

    def server(self):
        return {'certificate_file': f'{self.folder}/server.crt', 'private_key_file': f'{self.folder}/server.key'}

    def trust(self, path):
        new = path.with_suffix('.new')
        new.write_bytes((self.folder / 'ca.crt').read_bytes())
        new.replace(path)


def check_certificates(test):
    """Of a source those in use are followed, after a reload that leaves it where it is, and after one that moves it."""
    one, two = Authority(test, 'ca1'), Authority(test, 'ca2')
    a = directory(test, 'trusted', 't0')
    trust, other = test.work / 'trust.crt', test.work / 'other.crt'
    one.trust(trust)

    def serve(name, authority, address='127.0.0.1:0'):
        return Node(test, name, node={'id': 'trusted', 'authority': 'acme'}, static_resources={'directories': [a]},
                    sockets=[{'address': address, 'tls': authority.server()}], store={'in_memory': True},
                    admin={'sockets': [{'address': f'unix:{test.work}/{name}.sock'}]})
    server = serve('server1', one)
    source = {'name': 'above', 'udpa': {'address': server.address, 'tls': {'ca_file': str(trust), 'server_name': 'localhost'}}}
    node = Node(test, 'trusting', static_resources={'config_sources': [source]}, providers=[
        {'types': ['google.protobuf.StringValue'], 'config_descriptors': [{'resource_name': 'above'}]}])
    wait_for('it has it', lambda: node.names() == {'com.acme/t0'})
    check('a reload that changes nothing', node.reload()['changes'] == [])

    def renew(name, file, authority):
        n = node.process.text().count('certificates were read again')
        authority.trust(file)
        wait_for('other authorities', lambda: node.process.text().count('certificates were read again') > n)
        check('the server ends', test.interrupt(server.process) == 0)
        put(test.work / 'trusted', name, 'x')
        return serve(f'server-{name}', authority, server.address)
    server = renew('t1', trust, two)
    wait_for('they are used', lambda: 'com.acme/t1' in node.names())
    two.trust(other)
    source['udpa']['tls']['ca_file'] = str(other)
    node.write()
    check('other files', node.reload()['restart'] == [])
    server = renew('t2', other, one)
    wait_for('which are followed', lambda: 'com.acme/t2' in node.names())
    server.process.kill()
    node.end()


def check_audit(test):
    node = Node(test, 'audit')
    node.ctl('reload', '--dry-run')
    node.ctl('reload')
    shown = node.ctl('audit')
    check('who has reloaded, and no dry run', shown.count('/reload') == 1 and str(node.path) in shown, shown)
    check('what it takes', node.run('reload', 'now').returncode == 2)
    check('of a page', admin_page(node.process, '/reload?what', 'POST')[0] == 400 and
          admin_page(node.process, '/reload')[0] in (404, 405))
    node.end()


class Watch:
    """A client that prints a line for each change; it ends with the test."""

    def __init__(self, node, which=''):
        self.process = node.test.start(f'{node.name}-watch{which}', [node.test.build / 'udpactl', '--server', node.address, 'watch',
                                                              TYPE, '-o', 'name'])

    def lines(self):
        return [line for line in self.process.text().splitlines() if not line.startswith('udpactl')]


def check_silence(test, n_workers, seconds):
    """Reloads one after another while clients have streams: they receive nothing, and streams stay."""
    a, b = directory(test, f'silent{n_workers}', *(f'r{i}' for i in range(20))), directory(test, f'new{n_workers}', 'other')
    b['namespace'] = 'org.other'
    node = Node(test, f'silent{n_workers}', static_resources={'directories': [a]}, workers=n_workers)
    above = Node(test, f'above{n_workers}', node={'id': 'above', 'authority': 'above'})
    watch = Watch(node)
    wait_for('it has all', lambda: len(watch.lines()) == 20)
    more = f'127.0.0.1:{free_port()}'
    end = time.monotonic() + seconds
    n = 0
    while time.monotonic() < end:
        n += 1
        node.config['limits'] = {'maxStreams': 1000 + n % 7}
        node.config['timing'] = {'interestLinger': f'{20 + n % 5}s'}
        node.config['log'] = {'level': ('INFO', 'WARNING')[n % 2]}
        node.config['push'] = [{'debounce': f'0.0{n % 9 + 1}s'}]
        sources = [{'name': 'gone', 'udpa': {'address': '127.0.0.1:1'}}, {'name': 'there', 'udpa': {'address': above.address},
                                                                          'max_withdrawal': f'{n % 9 + 1}%'}][n % 3 % 2:]
        node.config['static_resources']['config_sources'] = sources
        node.config['providers'] = [{'types': ['google.protobuf.StringValue', TYPE + str(n % 4)], 'config_descriptors': [
            {'resource_name': source['name'], 'continuation': 'CONTINUE'} for source in sources]}]
        if not n_workers:
            node.config['sockets'] = [{'address': '127.0.0.1:0'}, {'address': more, 'max_message_bytes': 5000 + n % 5}][:1 + n % 4 // 2]
        node.config['acl'] = {'rules': [{'name': f'rule{n % 3}', 'identities': ['*', 'unix:*'], 'actions': [
            'ADMIN', 'SUBSCRIBE', 'PUBLISH']}]}
        node.write(json.dumps(node.config) if n % 5 else '{"limits": ')
        node.process.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
    node.write()
    node.process.process.send_signal(signal.SIGHUP)
    wait_for('the last one is in effect', lambda: json.loads(node.ctl('config', '-o', 'json'))['bootstrap'].get(
        'limits') == node.config['limits'])
    check(f'{n} reloads, and a client has received nothing', len(watch.lines()) == 20 and watch.process.process.poll() is None, watch.lines())
    put(test.work / f'silent{n_workers}', 'r3', 'another')
    wait_for('until something changes', lambda: len(watch.lines()) == 21)
    check('of that one name', 'changed' in watch.lines()[20] and 'com.acme/r3' in watch.lines()[20], watch.lines()[20:])
    connects = node.metric('udpa_source_connects_total{source="there"}')
    check('a source that stays has the stream that it had', connects == 1, connects)
    watch.process.kill()
    node.end()
    above.end()


def check_drain(test):
    """A node that drains takes no file over."""
    node = Node(test, 'draining', limits={'maxStreams': 5}, timing={'drainDelay': '60s'})
    node.process.process.send_signal(signal.SIGTERM)
    node.process.wait_for_log('not ready any more')
    node.config['limits'] = {'maxStreams': 6}
    node.write()
    done = node.run('reload')
    check('refused', done.returncode == REFUSED and 'draining' in done.stderr, done)
    node.process.process.send_signal(signal.SIGHUP)
    node.process.wait_for_log('SIGHUP: ignored: this node is draining')
    check('nothing has changed', 'max_streams is 6' not in node.process.text())
    node.end()


def check_workers(test):
    """They have what the node has checked, and not what lies in the file by now; SIGHUP in one does nothing."""
    node = Node(test, 'workers', workers=2, log={'level': 'INFO'})
    children = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(node.process.process.pid)], capture_output=True, text=True,
                              check=True).stdout.split()
    check('two workers', len(children) == 2, children)
    for child in children:
        os.kill(int(child), signal.SIGHUP)
    other = test.work / 'workers-other.log'
    node.config['log'] = {'level': 'DEBUG', 'to': str(other)}
    node.write()
    node.reload()
    wait_for('all three have the other log', lambda: sum(
        str(other) in os.readlink(f'/proc/{pid}/fd/{fd}') for pid in (node.process.process.pid, *children)
        for fd in os.listdir(f'/proc/{pid}/fd') if os.path.exists(f'/proc/{pid}/fd/{fd}')) == 3)
    node.end()


def body(test):
    if test.arguments.variant == 'long':
        check_silence(test, 2, 60)
        return
    check_values(test)
    check_directories(test)
    check_errors(test)
    check_sources(test)
    check_source_list(test)
    check_sockets(test)
    check_write_files(test)
    check_certificates(test)
    check_socket_certificates(test)
    check_audit(test)
    check_audit_files(test)
    check_drain(test)
    check_workers(test)
    check_silence(test, 0, 3)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ca', required=True, help='make-development-ca')
    sys.exit(main(parser, body, ('short', 'long')))
