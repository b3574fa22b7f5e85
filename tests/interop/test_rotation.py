#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certificates, authorities, revocation lists and rules are replaced while streams are open: who may
stay does not notice, and who may not is cut off, told why, within 5 s."""
import asyncio
import json
import os
import ssl
import subprocess
import sys
import time

import interop
import grpc
from grpc.experimental import session_cache
import httpx
import udpa_peer
import udpactl
from authority import Authority, replace
from envoy.config.cluster.v3 import cluster_pb2

LIMIT_S = 5
CLUSTER = 'envoy.config.cluster.v3.Cluster'


def read(path):
    return path.read_bytes()


class World:
    """A node, the files that it reads, and whoever comes."""

    def __init__(self, test, **more):
        self.test = test
        self.ca = Authority(test.work / 'ca')
        self.files = test.work / 'files' # as the node has them
        self.files.mkdir()
        self.put('node', self.ca, 'node')
        self.trust(self.ca)
        self.tls = {'certificate_file': f'{self.files}/node.crt',
                    'private_key_file': f'{self.files}/node.key',
                    'client_ca_file': f'{self.files}/ca.crt'}
        self.config = {'sockets': [{'address': '127.0.0.1:0', 'tls': self.tls}], **more}
        self.bootstrap = test.work / 'node.yaml'
        self.node = None

    def start(self):
        self.write()
        self.node = interop.Node(self.test, 'node', None, self.bootstrap)
        return self

    def write(self):
        replace(self.bootstrap, json.dumps(self.config))

    def put(self, file, authority, issued, **more):
        certificate, key = authority.issue(issued, **more)
        replace(self.files / f'{file}.key', key.read_text())
        replace(self.files / f'{file}.crt', certificate.read_text())

    def trust(self, *authorities):
        replace(self.files / 'ca.crt', ''.join(one.certificate.read_text() for one in authorities))

    def with_list(self):
        self.tls['crl_file'] = f'{self.files}/ca.crl'
        self.publish_list()
        return self

    def publish_list(self):
        replace(self.files / 'ca.crl', self.ca.revocations())
        return time.monotonic()

    def peer(self, who, authority=None, options=(), **more):
        """`who` has a certificate already, or is issued one."""
        authority = authority or self.ca
        path = authority.folder / f'{who}.crt'
        if not path.exists():
            authority.issue(who, **more)
        credentials = grpc.ssl_channel_credentials(
            read(self.ca.certificate), read(path.with_suffix('.key')), read(path))
        port = self.node.address.rsplit(':', 1)[1]
        return udpa_peer.Peer(self.test.build, f'localhost:{port}', node_id=who,
                              credentials=credentials, more_options=options)

    def wait_for_log(self, words, n=1):
        interop.wait_for(f'{words!r} in the log', lambda: self.node.text().count(words) >= n, 20)


def speak(peer, name='one'):
    peer.publish([(name, cluster_pb2.Cluster(name=name))])


def end_of(peer):
    """How the stream ends, and when; what else comes does not matter."""
    while True:
        message = peer.inbox.get(timeout=30)
        if isinstance(message, grpc.RpcError):
            return message, time.monotonic()


def expect_cut_off(peer, since, words, code=grpc.StatusCode.UNAUTHENTICATED):
    error, when = end_of(peer)
    interop.check(f'cut off {when - since:.2f} s later: {error.code().name}: {error.details()}',
                  error.code() == code and words in error.details() and when - since < LIMIT_S)


def is_revoked(world, error, who):
    """Reported at its stream, or in the handshake, where the node alone reports it in words."""
    if 'was revoked' in error.details():
        return True
    return interop.wait_for(f'a handshake of {who} that has failed', lambda: any(
        'TLS handshake' in line and f'CN={who} was revoked' in line for line in world.node.text().splitlines()))


def names(peer):
    """What the peer has, once it has been sent all that there is. Asked again it is sent what has
    changed."""
    peer.known = getattr(peer, 'known', set())
    message = peer.udpa_message()
    message.subscribe.type_url = udpa_peer.PREFIX + CLUSTER
    message.subscribe.resource_names.append('*')
    peer.outbox.put(message)
    is_complete = False
    while not is_complete:
        delta = peer.next_message('publish').publish.delta
        peer.known -= set(delta.removed_resources)
        peer.known |= {resource.name for resource in delta.resources
                       if resource.resource.type_url.endswith(CLUSTER)}
        is_complete = delta.complete
    return sorted(peer.known)


def server(test):
    """Its own certificate, as Kubernetes replaces it: a symbolic link leads elsewhere at once."""
    world = World(test)
    for version in ('1', '2'):
        (world.files / version).mkdir()
        certificate, key = world.ca.issue('node', file=f'node-{version}')
        replace(world.files / version / 'node.crt', certificate.read_text())
        replace(world.files / version / 'node.key', key.read_text())
    for file in ('node.crt', 'node.key'):
        (world.files / file).unlink()
        (world.files / file).symlink_to(f'..data/{file}')
    (world.files / '..data').symlink_to('1')
    world.start()
    peer = world.peer('client')
    speak(peer)

    def shown():
        context = ssl.create_default_context(cafile=world.ca.certificate)
        context.load_cert_chain(world.ca.folder / 'client.crt', world.ca.folder / 'client.key')
        import socket
        host, port = '127.0.0.1', world.node.port
        with context.wrap_socket(socket.create_connection((host, port)),
                                 server_hostname='localhost') as connection:
            return connection.getpeercert()['serialNumber']

    before = shown()
    (world.files / '..data.new').symlink_to('2')
    os.replace(world.files / '..data.new', world.files / '..data')
    interop.wait_for('the other certificate', lambda: shown() != before, LIMIT_S)
    speak(peer, 'two')
    interop.check('the stream goes on', names(peer) == ['local/one', 'local/two'])

    now = shown()
    certificate, key = world.ca.issue('node', file='node-3')
    (world.files / '..data' / 'node.crt').write_text(certificate.read_text())
    os.utime(world.files / '2')
    world.wait_for_log('does not belong to this certificate')
    interop.check('half of a pair is not taken', shown() == now)
    replace(world.files / '2' / 'node.key', key.read_text())
    replace(world.files / 'touch', '') # what lies behind links is seen when something moves here
    interop.wait_for('the third certificate', lambda: shown() != now, LIMIT_S)
    speak(peer, 'three')


def authority(test):
    """Another authority, with a time in which both are trusted."""
    world = World(test).start()
    other = Authority(test.work / 'other', 'other')
    old = world.peer('old')
    speak(old)
    world.trust(world.ca, other)
    world.wait_for_log('certificates were read again')
    new = world.peer('new', other)
    speak(new, 'two')
    speak(old, 'three')
    world.trust(other)
    expect_cut_off(old, time.monotonic(), 'none of the authorities')
    speak(new, 'four')
    interop.check('what was said stays: nothing was revoked',
                  names(new) == ['local/four', 'local/one', 'local/three', 'local/two'])
    # a gRPC client trusts whom it did
    again = world.peer('old')
    error, _ = end_of(again)
    interop.check(f'nor does it come again: {error.details()}',
                  error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED))


def revoked(test):
    world = World(test).with_list().start()
    good, bad, old = (world.peer(who) for who in ('good', 'bad', 'replaced'))
    for peer, name in ((good, 'good'), (bad, 'bad'), (old, 'replaced')):
        speak(peer, name)
    world.ca.revoke('bad', 'keyCompromise')
    world.ca.revoke('replaced', 'superseded')
    since = world.publish_list()
    expect_cut_off(bad, since, 'CN=bad was revoked')
    expect_cut_off(old, since, '(its holder has another one)')
    interop.wait_for('what the revoked has published goes, and nothing else',
                     lambda: names(good) == ['local/good', 'local/replaced'], LIMIT_S)
    for who in ('bad', 'replaced'):
        error, _ = end_of(world.peer(who))
        interop.check(f'does not come again: {error.details()}', is_revoked(world, error, who))
    speak(good, 'more')

    replace(world.files / 'ca.crl', 'nothing of the kind')
    world.wait_for_log('holds no revocation list')
    error, _ = end_of(world.peer('bad'))
    interop.check('a broken list changes nothing', is_revoked(world, error, 'bad'))


def resumed(test):
    """A client of an authority that the node does not have, but the client shows, and who resumes
    his TLS session."""
    world = World(test).with_list().start()
    below = Authority(test.work / 'below', 'below', above=world.ca)
    cache = session_cache.ssl_session_cache_lru(4)
    options = [('grpc.ssl_session_cache', cache)]
    with world.peer('client', below, options) as peer:
        speak(peer)
    again = world.peer('client', below, options)
    speak(again, 'two')
    interop.check('who resumes his session is served', names(again) == ['local/one', 'local/two'])
    world.ca.revoke_file(below.certificate)
    since = world.publish_list()
    expect_cut_off(again, since, 'CN=below was revoked')
    error, _ = end_of(world.peer('client', below, options))
    interop.check(f'nor by a session of before: {error.details()}', is_revoked(world, error, 'below'))


def expired(test):
    world = World(test).start()
    peer = world.peer('brief', seconds=6)
    speak(peer)
    end = time.monotonic() + 6
    error, when = end_of(peer)
    interop.check(f'cut off {when - end:.2f} s after its end: {error.details()}',
                  'CN=brief has expired' in error.details() and -2 < when - end < LIMIT_S)
    interop.check('what it has published stays', names(world.peer('other')) == ['local/one'])


def ends(test):
    """What the node says of its own files before they are of no use."""
    world = World(test).with_list()
    world.put('node', world.ca, 'node', seconds=3 * 86400)
    replace(world.files / 'ca.crl', world.ca.revocations('-crlsec', '1'))
    time.sleep(2) # until it is late
    world.start()
    for words in ('node.crt, expires on ', 'was to be followed by another on '):
        world.wait_for_log(words)
    peer = world.peer('onlooker')
    found = peer.collect('udpa.status.v1.NodeStatus', 'udpa.node')
    problems = next(iter(found.values())).problems
    interop.check(f'the status says so too: {problems}', len(problems) == 2 and
                  'our certificate' in problems[0] and 'ca.crl: list 1' in problems[1])
    world.put('node', world.ca, 'node')
    world.publish_list()
    interop.wait_for('a status without problems', lambda: not next(iter(peer.collect(
        'udpa.status.v1.NodeStatus', 'udpa.node').values())).problems, 20)

    certificate, key = world.ca.issue('nobody', subject='/O=acme', names='')
    replace(world.files / 'node.key', key.read_text())
    replace(world.files / 'node.crt', certificate.read_text())
    done = subprocess.run([test.build / 'udpad', '--check', '-c', world.bootstrap],
                          capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    interop.check(f'--check warns of a certificate without names: {said}',
                  'has no common name, URI or DNS name that is clear' in said)


def rules(test):
    """The file is edited, and nobody says so."""
    def rule(who, namespace='local', actions=('PUBLISH', 'SUBSCRIBE')):
        return {'name': who, 'identities': [who], 'actions': list(actions),
                'namespaces': [namespace]}

    world = World(test, acl={'rules': [rule('one'), rule('two'), rule('three')]}).start()
    one, two, three = (world.peer(who) for who in ('one', 'two', 'three'))
    for peer, name in ((one, 'one'), (two, 'two'), (three, 'three')):
        speak(peer, name)
    interop.check('all see all', names(one) == names(two) ==
                  ['local/one', 'local/three', 'local/two'])
    world.config['acl']['rules'] = [rule('one'), rule('two', 'elsewhere')]
    world.write()
    since = time.monotonic()

    def removed(peer):
        gone = set()
        while gone < {'local/one', 'local/two', 'local/three'}:
            gone.update(peer.next_message('publish').publish.delta.removed_resources)
        return time.monotonic() - since

    took = removed(two)
    interop.check(f'what it may not see any more is taken back within {took:.2f} s',
                  took < LIMIT_S)
    expect_cut_off(three, since, 'none is for this peer any more', grpc.StatusCode.PERMISSION_DENIED)
    interop.wait_for('what others have published goes', lambda: names(one) == ['local/one'],
                     LIMIT_S)
    world.bootstrap.write_text('acl: {rules: [')
    world.wait_for_log('the configuration stays as it was')
    speak(one, 'more')


def rest_port(node):
    line = next(line for line in node.text().splitlines() if 'over REST' in line)
    return line.split('listening on ')[1].split()[0].rsplit(':', 1)[1]


def source_at(world, **kind):
    """Of this kind, with certificates of the world's."""
    tls = {'certificate_file': f'{world.files}/edge.crt',
           'private_key_file': f'{world.files}/edge.key',
           'ca_file': f'{world.files}/ca.crt', 'crl_file': f'{world.files}/ca.crl'}
    kind, how = next(iter(kind.items()))
    return {'name': 'above', kind: {**how, 'tls': tls}}


def source(test):
    """A node that dials another, whose certificate is revoked, and then replaced."""
    above = World(test).start()
    lose_and_find(test, above, source_at(above, udpa={
        'address': f'127.0.0.1:{above.node.port}'})) # the C core's c-ares leaks what it looks up


def polled(test):
    """The same where it is polled by REST, and holds the answer back."""
    above = World(test)
    above.config['http'] = {'sockets': above.config['sockets']}
    above.config['descriptor_sets'] = [str(udpactl.descriptors(test))]
    above.start()
    lose_and_find(test, above, source_at(above, rest={
        'address': f'localhost:{rest_port(above.node)}', 'authority': 'above',
        'refresh_delay': '0.5s', 'request_timeout': '20s'}))


def lose_and_find(test, above, source_of_edge):
    config = {'static_resources': {'config_sources': [source_of_edge]},
              'descriptor_sets': [str(udpactl.descriptors(test))], 'timing': {'backoff_max': '1s'},
              'providers': [{'types': [CLUSTER],
                             'config_descriptors': [{'resource_name': 'above'}]}]}
    above.put('edge', above.ca, 'edge')
    above.publish_list()
    bootstrap = test.work / 'edge.yaml'
    bootstrap.write_text(json.dumps(config))
    edge = interop.Node(test, 'edge', bootstrap=bootstrap)
    speak(above.peer('publisher'))
    with udpa_peer.Peer(test.build, edge.address, 'onlooker') as peer:
        interop.wait_for('the cluster at the edge', lambda: names(peer) == ['local/one'], 20)
        above.ca.revoke('node')
        since = above.publish_list()
        interop.wait_for('the source is lost',
                         lambda: 'CN=node was revoked' in edge.text(), LIMIT_S)
        print(f'ok: lost {time.monotonic() - since:.2f} s later', flush=True)
        interop.check('what it has said stays', names(peer) == ['local/one'])
        above.put('node', above.ca, 'node')
        above.put('edge', above.ca, 'edge')
        above.wait_for_log('certificates were read again')
        interop.wait_for('the source by its new certificate',
                         lambda: source_state(peer) == 4, 30)
        speak(above.peer('publisher'), 'two')
        interop.wait_for('what is new', lambda: names(peer) == ['local/one', 'local/two'], 20)


def source_state(peer):
    found = peer.collect('udpa.status.v1.SourceStatus', 'udpa.node')
    return next(iter(found.values())).state


def rest(test):
    """A request that is held, and one that comes on the same connection."""
    world = World(test).with_list()
    world.config = {'sockets': [{'address': '127.0.0.1:0'}],
                    'http': {'sockets': world.config['sockets']}}
    world.ca.issue('client')
    world.start()
    url = f'https://localhost:{rest_port(world.node)}/v1/udpa:resources'

    async def talk():
        context = ssl.create_default_context(cafile=world.ca.certificate)
        context.load_cert_chain(world.ca.folder / 'client.crt', world.ca.folder / 'client.key')
        async with httpx.AsyncClient(verify=context, timeout=60, http2=True) as client:
            async def post(version):
                return await client.post(url, json={
                    'type_url': udpa_peer.PREFIX + CLUSTER, 'version': version})
            first = await post('')
            interop.check('an answer', first.status_code == 200)
            held = asyncio.create_task(post(first.json()['version']))
            await asyncio.sleep(1)
            world.ca.revoke('client')
            since = world.publish_list()
            answer = await held
            took = time.monotonic() - since
            interop.check(f'what is held ends after {took:.2f} s: {answer.status_code}: '
                          f'{answer.text}', answer.status_code == 401 and took < LIMIT_S and
                          'CN=client was revoked' in answer.text)
            answer = await post('')
            interop.check('nor is there another', answer.status_code == 401)

    asyncio.run(talk())


VARIANTS = {one.__name__: one for one in
            (server, authority, revoked, resumed, expired, ends, rules, source, polled, rest)}


def body(test):
    VARIANTS[test.variant](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(VARIANTS)))
