#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The admin socket as an operator, a scraper and a stranger meet it: where it is, who may, what pages of browsers
may not, what has moved there from sockets of HTTP, and what many connections do to it and to others."""
import argparse
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
import time

from product import PATIENCE_S, LocalConnection, admin_page, ask, check, main, wait_for

GOOD, REFUSED, MISTAKE, NO_CONNECTION = range(4)
TOKEN, OTHER = 'f' * 31 + '0', 'f' * 31 + '1'
JSON = {'content-type': 'application/json'}
MOVED = ('/runtime', '/stats', '/stats/prometheus', '/store')
STRING = 'google.protobuf.StringValue'
MAX = 64
MANY = 1000
CPU_S = 5 # that a change may take to its client while others ask without end


class Node:
    def __init__(self, test, name, config=None, *more):
        self.test, self.name = test, name
        self.file = test.work / f'{name}.json'
        self.data = test.work / f'{name}-data'
        self.file.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], **(config or {})}))
        self.more = more
        self.start()

    def start(self):
        self.process = self.test.start(self.name, [
            self.test.build / 'udpad', '--node-id', self.name, '--state', self.data, '-c', self.file, *self.more])
        wait_for('the whole banner', lambda: 'names without' in self.process.text() or
                 self.process.process.poll() is not None)
        check(f'{self.name} runs', self.process.process.poll() is None, self.process.text())
        text = self.process.text()
        self.address = re.search(r'listening on ([\d.:]+)', text)[1]
        tcp = re.search(r'admin socket [\d.]+:(\d+)', text)
        self.port = int(tcp[1]) if tcp else None
        rest = re.search(r'listening on [\d.]+:(\d+) \([^)]*over REST;', text)
        self.http = int(rest[1]) if rest else None

    def page(self, path, *more, **fields):
        """By the unix socket."""
        return admin_page(self.process, path, *more, **fields)

    def tcp(self, path, method='GET', token=None, body=None, **headers):
        if token:
            headers['authorization'] = f'Bearer {token}'
        return ask(http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE_S), path, method, body,
                   headers)

    def old(self, path, method='GET'):
        """By the socket of HTTP."""
        return ask(http.client.HTTPConnection('127.0.0.1', self.http, timeout=PATIENCE_S), path, method)

    def stats(self):
        return dict(line.split(': ') for line in self.page('/stats')[1].splitlines())

    def value(self, key):
        return json.loads(self.page('/runtime')[1])['entries'].get(key, {}).get('final_value')


def ctl(test, *arguments, status=GOOD, cwd=None, **environment):
    done = subprocess.run([str(part) for part in (test.build / 'udpactl', *arguments)], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, cwd=cwd,
                          env={**{name: value for name, value in os.environ.items()
                                  if not name.startswith('UDPACTL_')}, **environment})
    check(f'udpactl {" ".join(map(str, arguments))}: {status}', done.returncode == status,
          f'{done.returncode}\n{done.stdout}{done.stderr}')
    return done.stderr if status else done.stdout


# ---- where it is ----

def test_default(test):
    node = Node(test, 'default', {}, '--http', '127.0.0.1:0')
    path = node.data / 'admin.sock'
    check('the file is its owner\'s alone', stat.S_IMODE(path.stat().st_mode) == 0o600, oct(path.stat().st_mode))
    index = node.page('/')[1]
    check('the index has each page, with its method', all(re.search(rf'^{method} +{page} +\S', index, re.M)
          for method, page in (('GET', '/runtime'), ('POST', '/runtime_modify'), ('GET', '/metrics'),
                               ('POST', '/store_migrate'))), index)
    for page in ('/runtime', '/stats', '/stats/prometheus', '/metrics', '/livez', '/readyz?verbose', '/ready'):
        check(f'{page} is there', node.page(page)[0] == 200)
    status, text, _ = node.page('/v3/discovery:clusters', 'POST', '{}', JSON)
    check('discovery is not', status == 404 and '/runtime' in text, text)
    check('udpactl finds it', 'effective' in ctl(test, '--admin', f'unix:{path}', 'runtime', 'layers'))
    ctl(test, 'runtime', 'set', 'x=1', UDPACTL_ADMIN=f'unix:/proc/no,unix:{path}')
    check('and changes it, by the second of two', node.value('x') == '1')
    node.process.process.send_signal(signal.SIGKILL)
    node.process.process.wait()
    check('what a killed node has left is there', path.exists())
    node.start()
    check('and is replaced', node.page('/ready')[0] == 200)
    check('the node ends', test.interrupt(node.process) == 0 and not path.exists())


def test_found_where_it_is(test):
    """Both programs in one directory, as somebody who tries them has them."""
    here = test.work / 'here'
    here.mkdir()
    process = test.start('here', ['env', '-C', here, test.build / 'udpad', '--listen', '127.0.0.1:0'])
    process.wait_for_log('admin socket')
    check('without an option', 'effective' in ctl(test, 'runtime', 'layers', cwd=here))
    said = ctl(test, 'runtime', 'get', status=NO_CONNECTION, cwd=test.work)
    check('elsewhere it says where it has looked, and what to do', 'udpa-data/admin.sock: No such file' in said and
          'UDPACTL_ADMIN' in said, said)
    said = ctl(test, '--server', '127.0.0.2:1', 'runtime', 'get', status=NO_CONNECTION, cwd=here)
    check('with another server it does not ask the node that is here', 'cannot ask 127.0.0.2:18080' in said, said)
    test.interrupt(process)


def test_no_place(test):
    long = test.work / ('d' * 100)
    process = test.start('long', [test.build / 'udpad', '--listen', '127.0.0.1:0', '--state', long])
    process.wait_for_log('names without')
    check('a directory with a long path has none, and the node starts',
          'there is no admin socket' in process.text() and 'admin socket unix' not in process.text(), process.text())
    test.interrupt(process)
    config = test.work / 'long.json'
    config.write_text(json.dumps({'admin': {'sockets': [{'address': f'unix:{test.work}/none/admin.sock'}]}}))
    done = subprocess.run([test.build / 'udpad', '--listen', '127.0.0.1:0', '-c', config, '--state', test.work / 'x'],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check('one that the file has is needed', done.returncode == 1 and 'make its directory first' in done.stderr,
          done.stderr)


# ---- who may ----

def write_token(path, text, mode=0o600):
    new = path.with_name('new')
    new.write_text(text)
    new.chmod(mode)
    os.replace(new, path)


def test_token(test):
    file = test.work / 'token'
    write_token(file, TOKEN + '\n')
    node = Node(test, 'token', {'admin': {'token_file': str(file), 'sockets': [
        {'address': '127.0.0.1:0'}, {'address': f'unix:{test.work}/own.sock'}]}})
    check('a socket of the file is its owner\'s alone', stat.S_IMODE((test.work / 'own.sock').stat().st_mode) == 0o600)
    status, text, headers = node.tcp('/runtime')
    check('without a token: 401', status == 401 and headers['www-authenticate'].startswith('Bearer') and
          'admin.token_file' in text, text)
    for token in (OTHER, TOKEN[:-1], TOKEN + 'x', TOKEN[:16], 'x' * 600):
        check(f'with another ({len(token)} bytes): 401', node.tcp('/runtime', token=token)[0] == 401)
    for header in (TOKEN, f'Basic {TOKEN}', 'Bearer ', f'Bearer {TOKEN} x'):
        check(f'{header}: 401', node.tcp('/runtime', authorization=header)[0] == 401)
    check('nothing was changed', node.tcp('/runtime_modify?x=1', 'POST')[0] == 401 and
          node.tcp('/runtime_modify?x=1', 'POST', OTHER)[0] == 401 and node.value('x') is None)
    check('with it: 200', node.tcp('/runtime', token=TOKEN)[0] == 200 and
          node.tcp('/runtime', authorization=f'bearer {TOKEN}')[0] == 200)
    check('health needs none', node.tcp('/ready')[0] == 200 and node.tcp('/livez')[0] == 200)
    check('nor does a user whom the kernel knows', node.page('/runtime')[0] == 200)
    check('who sends a wrong one is refused there, too',
          node.page('/runtime', headers={'authorization': f'Bearer {OTHER}'})[0] == 401)
    n = int(node.stats()['admin_requests_unauthenticated'])
    check('all refusals are counted', n == 13, n)
    address = f'127.0.0.1:{node.port}'
    said = ctl(test, '--admin', address, 'runtime', 'get', status=REFUSED)
    check('udpactl says what is missing', '401' in said and '--admin-token' in said, said)
    ctl(test, '--admin', address, '--admin-token', file, 'runtime', 'get')
    ctl(test, 'runtime', 'get', UDPACTL_ADMIN=address, UDPACTL_ADMIN_TOKEN=str(file))
    said = ctl(test, '--admin', '192.0.2.1:1', '--admin-token', file, 'runtime', 'get', status=MISTAKE)
    check('it does not send it in the clear', '--ca' in said, said)
    follow_file(test, node, file)


def follow_file(test, node, file):
    write_token(file, OTHER)
    check('another file counts at once', node.tcp('/runtime', token=TOKEN)[0] == 401 and
          node.tcp('/runtime', token=OTHER)[0] == 200)
    for at in range(8): # of the same size, and within a tick of the clock of files
        now = f'{at}' * 32
        file.write_text(now)
        check('so does the same file, written anew', node.tcp('/runtime', token=now)[0] == 200 and
              node.tcp('/runtime', token=OTHER)[0] == 401)
    old = time.time() - 1000
    os.utime(file, (old, old))
    check('one that is old is remembered', node.tcp('/runtime', token=now)[0] == 200)
    file.write_text(TOKEN)
    os.utime(file, (old, old))
    check('but followed all the same', node.tcp('/runtime', token=TOKEN)[0] == 200 and
          node.tcp('/runtime', token=now)[0] == 401)
    for text, mode, words in ((TOKEN, 0o604, 'every user of this machine'), ('short', 0o600, '16 to 200'),
                              (f'{TOKEN} {TOKEN}', 0o600, 'without blanks')):
        write_token(file, text, mode)
        check(f'{words}: no token is right', node.tcp('/runtime', token=TOKEN)[0] == 401)
        wait_for(f'the log says why: {words}', lambda words=words: words in node.process.text())
        refuse_start(test, {'token_file': str(file)}, words)
    file.unlink()
    check('without the file none is', node.tcp('/runtime', token=TOKEN)[0] == 401)
    write_token(file, TOKEN)
    check('and then it is again', node.tcp('/runtime', token=TOKEN)[0] == 200)


def refuse_start(test, admin, words):
    config = test.work / 'wrong.json'
    config.write_text(json.dumps({'admin': admin}))
    done = subprocess.run([test.build / 'udpad', '--listen', '127.0.0.1:0', '-c', config, '--state', test.work / 'w'],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check(f'no start: {words}', done.returncode == 2 and words in done.stderr, done.stderr)


def test_exposure(test):
    refuse_start(test, {'sockets': [{'address': '0.0.0.0:0'}]}, 'in the clear')
    tls = {'certificate_file': '/none', 'private_key_file': '/none'}
    refuse_start(test, {'sockets': [{'address': '0.0.0.0:0', 'tls': tls}]}, 'every peer could administer this node')


def test_browsers(test):
    file = test.work / 'token'
    write_token(file, TOKEN)
    node = Node(test, 'browsers', {'admin': {'token_file': str(file), 'sockets': [
        {'address': '127.0.0.1:0'}, {'address': f'unix:{test.work}/browsers.sock'}]}})
    for fields in ({'origin': 'http://evil.example'}, {'origin': 'null'}, {'sec-fetch-site': 'cross-site'},
                   {'host': 'evil.example'}):
        for page, method in (('/runtime', 'GET'), ('/runtime_modify?x=1', 'POST'), ('/', 'GET')):
            for way in (lambda *rest, fields=fields: node.tcp(*rest, token=TOKEN, **fields),
                        lambda *rest, fields=fields: node.page(*rest, headers=fields)):
                check(f'no page of others may {page}: {fields}', way(page, method)[0] == 403)
    check('nothing was changed', node.value('x') is None)
    for kind in ('text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'):
        status, _, _ = node.page('/runtime_modify', 'POST', '{"x": 1}', {'content-type': kind})
        check(f'a form of a page is no body: {kind}', status == 415 and node.value('x') is None)


def rules_of(*identities):
    return {'rules': [{'name': 'all', 'identities': ['*'], 'actions': ['PUBLISH', 'SUBSCRIBE']},
                      {'name': 'operators', 'identities': list(identities), 'actions': ['ADMIN']}]}


def test_rules(test):
    file = test.work / 'token'
    write_token(file, TOKEN)
    admin = {'token_file': str(file), 'sockets': [{'address': '127.0.0.1:0'},
                                                  {'address': f'unix:{test.work}/rules.sock'}]}
    node = Node(test, 'rules', {'acl': rules_of('unix:4000000000'), 'admin': admin})
    status, text, _ = node.page('/runtime')
    check('a user for whom there is no rule: 403', status == 403 and f'unix:{os.getuid()}' in text, text)
    check('and changes nothing', node.page('/runtime_modify?x=1', 'POST')[0] == 403)
    check('the token is above the rules', node.tcp('/runtime', token=TOKEN)[0] == 200 and
          '"x"' not in node.tcp('/runtime', token=TOKEN)[1] and
          node.tcp('/origins_delete?nobody&dry_run', 'POST', TOKEN)[0] == 200 and
          node.page('/runtime', headers={'authorization': f'Bearer {TOKEN}'})[0] == 200)
    node.file.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], 'admin': admin,
                                     'acl': rules_of(f'unix:{os.getuid()}')}))
    node.process.process.send_signal(signal.SIGHUP)
    wait_for('a rule for the user counts', lambda: node.page('/runtime')[0] == 200)
    admin['max_connections'] = 17
    node.file.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], 'admin': admin,
                                     'acl': rules_of(f'unix:{os.getuid()}')}))
    node.process.process.send_signal(signal.SIGHUP)
    wait_for('what takes a restart is named', lambda: 'admin.max_connections' in node.process.text())


def test_certificates(test):
    folder = test.work / 'certificates'
    for name in ('core', 'ops', 'shop'):
        subprocess.run([str(test.arguments.ca), str(folder), name], check=True, capture_output=True)
    file = test.work / 'token'
    write_token(file, TOKEN)
    tls = {'certificate_file': str(folder / 'core.crt'), 'private_key_file': str(folder / 'core.key'),
           'client_ca_file': str(folder / 'ca.crt'), 'client_certificate_optional': True}
    node = Node(test, 'tls', {'acl': rules_of('ops'), 'admin': {'token_file': str(file), 'sockets': [
        {'address': '0.0.0.0:0', 'tls': tls}]}})

    def page(name=None, **headers):
        context = ssl.create_default_context(cafile=folder / 'ca.crt')
        context.check_hostname = False
        if name:
            context.load_cert_chain(folder / f'{name}.crt', folder / f'{name}.key')
        return ask(http.client.HTTPSConnection('127.0.0.1', node.port, context=context, timeout=PATIENCE_S),
                   '/runtime', headers=headers)[0]

    check('by a certificate, with a rule', page('ops') == 200)
    check('without one', page('shop') == 403)
    check('without a certificate', page() == 401)
    check('but with the token', page(authorization=f'Bearer {TOKEN}') == 200)
    options = ('--admin', f'127.0.0.1:{node.port}', '--ca', folder / 'ca.crt')
    ctl(test, *options, '--cert', folder / 'ops.crt', '--key', folder / 'ops.key', 'runtime', 'layers')
    ctl(test, *options, '--admin-token', file, 'runtime', 'layers')
    said = ctl(test, *options, '--cert', folder / 'shop.crt', '--key', folder / 'shop.key', 'runtime', 'get',
               status=REFUSED)
    check('udpactl says that there is no rule', '403' in said and 'action ADMIN' in said, said)
    before = read_certificate(node.port)
    subprocess.run([str(test.arguments.ca), str(folder), 'other'], check=True, capture_output=True)
    for kind in ('crt', 'key'):
        (folder / f'other.{kind}').replace(folder / f'core.{kind}')
    node.process.process.send_signal(signal.SIGHUP)
    wait_for('another certificate is taken', lambda: read_certificate(node.port) != before)


def read_certificate(port):
    return ssl.get_server_certificate(('127.0.0.1', port))


# ---- what has moved ----

def test_moved(test):
    node = Node(test, 'moved', {}, '--http', '127.0.0.1:0')
    for page in MOVED:
        status, text, _ = node.old(page)
        check(f'{page} is not on sockets of HTTP, which say where it is', status == 404 and
              'on the admin socket' in text and 'admin_pages' in text, text)
    check('nothing is changed there', node.old('/runtime_modify?x=1', 'POST')[0] == 404 and node.value('x') is None)
    for page in ('/metrics', '/livez', '/readyz', '/ready', '/readyz?verbose'):
        check(f'{page} is', node.old(page)[0] == 200)
    said = ctl(test, '--http', f'127.0.0.1:{node.http}', 'runtime', 'get', status=REFUSED)
    check('udpactl says so', '--admin' in said and 'admin_pages' in said, said)
    node = Node(test, 'stayed', {'http': {'admin_pages': True}}, '--http', '127.0.0.1:0')
    check('unless it is to', all(node.old(page)[0] in (200, 400) for page in MOVED) and
          node.old('/runtime_modify?x=1', 'POST')[0] == 200 and node.value('x') == '1')
    ctl(test, '--http', f'127.0.0.1:{node.http}', 'runtime', 'get')


def test_open(test):
    closed = {'acl': rules_of('nobody')}
    node = Node(test, 'closed', closed, '--http', '127.0.0.1:0')
    check('with rules they need one', node.old('/metrics')[0] == 403 and node.page('/metrics')[0] == 403 and
          node.old('/readyz?verbose')[0] == 403 and node.old('/readyz')[0] == 200)
    for pages, path, other in ((['METRICS'], '/metrics', '/readyz?verbose'), (['HEALTH'], '/readyz?verbose', '/metrics')):
        node = Node(test, f'open-{pages[0]}', {**closed, 'http': {'open_pages': pages}}, '--http', '127.0.0.1:0')
        check(f'{path} is open by itself', node.old(path)[0] == 200 and node.page(path)[0] == 200 and
              node.old(other)[0] == 403 and node.page('/runtime')[0] == 403)


def has_thread(pid, name):
    return any(one.read_text(encoding='ascii').strip() == name
               for one in pathlib.Path(f'/proc/{pid}/task').glob('*/comm'))


def test_workers(test):
    node = Node(test, 'workers', {'workers': 2})
    pid = node.process.process.pid
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split()
    check('there are workers', len(children) == 2, children)
    check('the node serves it, and no worker', has_thread(pid, 'udpa-admin') and
          not any(has_thread(child, 'udpa-admin') for child in children))
    connection = LocalConnection(node.data / 'admin.sock')
    connection.connect()
    who = struct.unpack('3i', connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    check('who listens is the node', who == pid, f'{who} {pid}')
    connection.close()
    ctl(test, '--admin', f'unix:{node.data}/admin.sock', 'runtime', 'set', 'x=1')
    check('it is effective', node.value('x') == '1')


# ---- many ----

def connect(node, local, text=b''):
    one = socket.socket(socket.AF_UNIX if local else socket.AF_INET)
    one.settimeout(PATIENCE_S)
    one.connect(str(node.data / 'admin.sock') if local else ('127.0.0.1', node.port))
    if text:
        one.sendall(text)
    return one


def apply(test, node, name):
    path = test.work / 'apply.yaml'
    path.write_text(f'name: {name}\nresource: {{"@type": type.googleapis.com/{STRING}, value: x}}\n')
    ctl(test, '--server', node.address, 'apply', '-f', path)


def expect_change(test, node, watch, name):
    begin = time.monotonic()
    apply(test, node, name)
    wait_for(f'{name} is with its client', lambda: f'local/{name}' in watch.text())
    took = time.monotonic() - begin
    check(f'{name} was with its client at once', took < CPU_S, took)


def test_many(test):
    """Of the same user as the operator, so that no limit of a user helps."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * MANY, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    node = Node(test, 'many', {'admin': {'max_connections': MAX, 'sockets': [
        {'address': '127.0.0.1:0'}, {'address': f'unix:{test.work}/many-data/admin.sock'}]}})
    watch = test.start('watch', [test.build / 'udpactl', '--server', node.address, 'watch', STRING])
    apply(test, node, 'first')
    watch.wait_for_log('local/first')
    hanging = [connect(node, at % 2, b'GET /stats HTTP/1.1\r\nhost: x\r\n') for at in range(MANY)]
    expect_change(test, node, watch, 'second')
    ctl(test, '--admin', f'unix:{node.data}/admin.sock', 'runtime', 'layers')
    ctl(test, '--admin', f'127.0.0.1:{node.port}', 'runtime', 'layers')
    stats = node.stats()
    most = MAX + MAX // 20 + 4
    check('there are no more than there may be', 0 < int(stats['admin_connections']) <= most, stats)
    check('those that hang have ended for others', int(stats['admin_connections_replaced']) >= MANY - most, stats)
    for path in ('/stats/prometheus', '/metrics'):
        metrics = node.page(path)[1]
        check(f'which {path} has, too', re.search(r'^udpa_admin_connections_replaced_total \d{3}', metrics, re.M),
              metrics)
    for one in hanging:
        one.close()
    request = b'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n' * 200
    test_together(node)
    deaf = [connect(node, at % 2, request) for at in range(MAX + 10)]
    expect_change(test, node, watch, 'third')
    check('of pages that nobody reads, too', watch.process.poll() is None and node.process.process.poll() is None)
    for one in deaf:
        one.close()
    test_reserve(test, node)
    check('the node ends', test.interrupt(node.process) == 0)


def test_together(node):
    """The node is asked for a few at a time: more wait, and all come, in the end."""
    wait_for('those have gone', lambda: int(node.stats()['admin_connections']) <= 1)
    several = [connect(node, at % 2, b'GET /stats/prometheus HTTP/1.1\r\nhost: x\r\n\r\n'
                       b'GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n') for at in range(MAX // 2)]
    texts = [b''.join(iter(lambda one=one: one.recv(65536), b'')) for one in several]
    check('all that are asked at once are answered', all(text.count(b'HTTP/1.1 200 OK') == 2 and
          b'udpa_admin_connections ' in text for text in texts), texts)


def test_reserve(test, node):
    """All have a request whose body does not come: so none is idle, and users of this machine have their own."""
    wait_for('all have gone', lambda: int(node.stats()['admin_connections']) <= 1)
    head = (b'POST /runtime_modify HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
            b'content-length: 9\r\nexpect: 100-continue\r\n\r\n')
    taken = [connect(node, False, head) for _ in range(MAX)]
    check('all have a request', all(one.recv(64).startswith(b'HTTP/1.1 100 ') for one in taken))
    late = connect(node, False)
    check('one more from elsewhere is closed', late.recv(1) == b'')
    ctl(test, '--admin', f'unix:{node.data}/admin.sock', 'runtime', 'layers')
    stats = node.stats()
    check('and counted, while all places are taken', int(stats['admin_connections_rejected']) >= 1 and
          int(stats['admin_connections']) > MAX, stats)
    wait_for('and logged', lambda: 'admin.max_connections' in node.process.text())
    for one in (*taken, late):
        one.close()


def body(test):
    test_default(test)
    test_found_where_it_is(test)
    test_no_place(test)
    test_token(test)
    test_exposure(test)
    test_browsers(test)
    test_rules(test)
    test_certificates(test)
    test_moved(test)
    test_open(test)
    test_workers(test)
    test_many(test)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--ca', type=pathlib.Path, required=True)
    sys.exit(main(parser, body))
