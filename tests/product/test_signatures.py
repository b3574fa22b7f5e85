#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signatures as people use them: keys made with openssl, udpactl sign, apply and verify, nodes that
sign and nodes that require, and a change of keys that nobody notices."""
import argparse
import base64
import calendar
import hashlib
import json
import signal
import subprocess
import sys
import time

import signed
from product import check, main, wait_for

STRING = 'type.googleapis.com/google.protobuf.StringValue'
NAMES = {'ED25519': signed.ED25519, 'ECDSA_P256_SHA256': signed.ECDSA_P256_SHA256}


class Ctl:
    def __init__(self, test, address='127.0.0.1:1'):
        self.command = [test.build / 'udpactl', '--server', address,
                        '--descriptors', test.build / 'proto' / 'udpa.descriptors']

    def run(self, *arguments, stdin=''):
        return subprocess.run([str(part) for part in [*self.command, *arguments]], text=True,
                              capture_output=True, input=stdin, check=False)

    def __call__(self, *arguments, stdin='', status=0, err=''):
        done = self.run(*arguments, stdin=stdin)
        words = ' '.join(str(argument) for argument in arguments)
        check(f'udpactl {words}: exit status {status}', done.returncode == status,
              f'{done.returncode}: {done.stdout}{done.stderr}')
        check(f'  and says …{err}…' if err else '  and complains of nothing',
              err in done.stderr if err else not done.stderr, done.stderr)
        return done.stdout

    def get(self, name):
        """The resource as JSON; None: it is not there."""
        done = self.run('get', STRING, name, '-o', 'json')
        return json.loads(done.stdout)[0] if done.returncode == 0 else None


def payload(text):
    return b'\x0a' + bytes([len(text)]) + text.encode()


def document(name, text, **more):
    return json.dumps({'name': name, 'resource': {'@type': STRING, 'value': text}, **more})


def seconds(text):
    return calendar.timegm(time.strptime(text, '%Y-%m-%dT%H:%M:%SZ'))


def bytes_of(resource):
    """What the signature of a resource, as udpactl prints it in JSON, must be of."""
    info = resource['originInfo']
    return signed.signed_bytes(
        info['authority'], resource['resource']['@type'], resource['name'], resource['version'],
        int(info['generation']), payload(resource['resource']['value']),
        seconds(info['signature']['notBefore']), seconds(info['signature']['notAfter']),
        resource.get('aliases', []), resource.get('delivery') == 'LAZY',
        resource.get('doNotCache', False))


def check_others_verify_ours(test, ctl, key):
    out = ctl('sign', '-f', '-', '--key', key.private, '--key-id', 'k', '--authority', 'acme',
              '-n', 'com.acme', '-o', 'json', stdin=document(
                  'x', 'hello', aliases=['z', 'b'], delivery='LAZY', do_not_cache=True))
    resource = json.loads(out)[0]
    signature = resource['originInfo']['signature']
    value = base64.b64decode(signature['value'])
    check('  it says how it was signed', NAMES[signature['algorithm']] == key.algorithm, signature)
    check('  openssl verifies the bytes that the design describes',
          key.verifies(bytes_of(resource), value), out)
    resource['originInfo']['generation'] = str(int(resource['originInfo']['generation']) + 1)
    check('  and no others', not key.verifies(bytes_of(resource), value), out)


def sign_by_hand(key, name, text, authority='acme', valid_s=3600):
    """A document signed by openssl alone."""
    now, generation = int(time.time()), time.time_ns() // 1000
    version = hashlib.md5(text.encode()).hexdigest()[:20]
    data = signed.signed_bytes(authority, STRING, name, version, generation, payload(text), now,
                               now + valid_s)
    algorithm = next(text for text, number in NAMES.items() if number == key.algorithm)
    stamp = [time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at)) for at in (now, now + valid_s)]
    return json.loads(document(name, text, version=version, origin_info={
        'authority': authority, 'generation': str(generation), 'signature': {
            'algorithm': algorithm, 'key_id': 'k', 'not_before': stamp[0], 'not_after': stamp[1],
            'value': base64.b64encode(key.sign(data)).decode()}}))


def check_ours_verify_others(test, ctl, key):
    trusted = ['--trusted', f'acme/k={key.public}']
    good = sign_by_hand(key, 'com.acme/x', 'hello')
    out = ctl('verify', '-f', '-', *trusted, stdin=json.dumps(good))
    check('  what openssl has signed is good', ' is signed by acme with key k until ' in out, out)
    for what, change in {
            'name': lambda it: it.update(name='com.acme/y'),
            'version': lambda it: it.update(version='v9'),
            'payload': lambda it: it['resource'].update(value='Hello'),
            'aliases': lambda it: it.update(aliases=['com.acme/z']),
            'delivery': lambda it: it.update(delivery='LAZY'),
            'do_not_cache': lambda it: it.update(do_not_cache=True),
            'generation': lambda it: it['origin_info'].update(generation='5'),
            'not_after': lambda it: it['origin_info']['signature'].update(
                not_after='2099-01-01T00:00:00Z'),
    }.items():
        changed = json.loads(json.dumps(good))
        change(changed)
        ctl('verify', '-f', '-', *trusted, stdin=json.dumps(changed), status=1,
            err='does not bear the signature')
        print(f'ok:   another {what} is noticed', flush=True)
    ctl('verify', '-f', '-', '--trusted', f'bank/k={key.public}', stdin=json.dumps(good), status=1,
        err="no key of its authority 'acme' is trusted here")
    ctl('verify', '-f', '-', *trusted, stdin=document('com.acme/x', 'x'), status=1,
        err='is not signed')
    old = sign_by_hand(key, 'com.acme/x', 'hello', valid_s=-3600)
    ctl('verify', '-f', '-', *trusted, stdin=json.dumps(old), status=1, err='was valid until')


def check_command_line(test, ctl, key):
    for wrong, err in (
            (['sign', '-f', '-', '--key-id', 'k'], 'sign needs --key FILE and --key-id ID'),
            (['sign', '-f', '-', '--key', key.private], 'sign needs --key FILE and --key-id ID'),
            (['sign', 'x', '--key', key.private, '--key-id', 'k'], 'sign takes files'),
            (['sign', '-f', '-', '--key', key.public, '--key-id', 'k'], 'holds no private key'),
            (['sign', '-f', '-', '--key', test.work / 'none', '--key-id', 'k'], 'cannot be opened'),
            (['sign', '-f', '-', '--key', key.private, '--key-id', 'k', '--validity', '24'],
             '--validity 24: give a number and s, m, h or d'),
            (['sign', '-f', '-', '--key', key.private, '--key-id', 'k', '-o', 'table'],
             'sign has yaml and json'),
            (['sign', '-f', '-', '--key', key.private, '--key-id', 'k'], 'has no authority'),
            (['verify', '-f', '-'], 'verify needs keys to verify with'),
            (['verify', '--trusted', f'a/k={key.public}'], 'verify takes resources of a node'),
            (['verify', '-f', '-', '--trusted', 'acme'], 'write AUTHORITY/KEYID=FILE'),
            (['verify', '-f', '-', '--trusted', f'a/k={key.private}'], 'holds a private key'),
            (['get', '--trusted', f'a/k={key.public}'], '--trusted goes with verify'),
            (['get', '--key-id', 'k'], 'go with sign'),
            (['get', '--authority', 'k'], '--authority goes with sign')):
        ctl(*wrong, stdin=document('x', 'hello'), status=2, err=err)


# ---- nodes ----

def write(test, name, config):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps(config), encoding='utf-8')
    return path


def trusted(*keys):
    return [{'authority': 'acme', 'key_id': name, 'public_key_file': str(key.public)}
            for name, key in keys]


def check_publishing(test, keys):
    config = {'signatures': {'trusted': trusted(('k', keys[0])),
                             'required': [{'namespaces': ['com.acme']}]}}
    node, address = test.start_node('keeper', '-c', write(test, 'keeper', config))
    ctl = Ctl(test, address)
    ctl('apply', '-f', '-', stdin=document('com.acme/x', 'hello'), status=1,
        err="of its authority ('udpactl'): sign it")
    ctl('apply', '-f', '-', stdin=document('org.example/x', 'hello'))
    ctl('apply', '-f', '-', stdin=json.dumps(sign_by_hand(keys[1], 'com.acme/x', 'hello')),
        status=1, err='refused')
    sign = ['sign', '-f', '-', '--key', keys[0].private, '--key-id', 'k', '--authority', 'acme']
    file = test.work / 'signed.yaml'
    file.write_text(ctl(*sign, stdin=document('com.acme/x', 'hello')))
    ctl('apply', '-f', file)
    there = ctl.get('com.acme/x')
    value = base64.b64decode(there['originInfo']['signature']['value'])
    check('  the node has it as it was signed', keys[0].verifies(bytes_of(there), value), there)
    out = ctl('verify', STRING, 'com.acme/x', '--trusted', f'acme/k={keys[0].public}')
    check('  and verify says so', 'com.acme/x is signed by acme with key k' in out, out)
    ctl('verify', STRING, '--trusted', f'acme/k={keys[0].public}', status=1,
        err="'org.example/x' is not signed")
    ctl('verify', STRING, 'com.acme/none', '--trusted', f'acme/k={keys[0].public}', status=1,
        err="'com.acme/none'")
    out = ctl('get', STRING, 'com.acme/x', '-o', 'yaml')
    check('  get shows whose key it was', '\n# signed with key k until 20' in out, out)
    file.write_text(file.read_text().replace('value: hello', 'value: bye'))
    ctl('apply', '-f', file, status=2, err="'com.acme/x' is not what was signed: sign it again")
    check('  what was there stays', ctl.get('com.acme/x')['resource']['value'] == 'hello')
    node.process.send_signal(signal.SIGKILL)
    node.process.wait()
    node, address = test.start_node('keeper', '-c', test.work / 'keeper.yaml')
    ctl = Ctl(test, address)
    there = wait_for('it is there after a restart', lambda: ctl.get('com.acme/x'))
    check('a restart keeps it as it was signed', keys[0].verifies(bytes_of(there), value), there)
    write(test, 'keeper', {'signatures': {**config['signatures'], 'trusted': trusted(('k', keys[1]))}})
    check('the node ends', test.interrupt(node) == 0)
    node, address = test.start_node('keeper', '-c', test.work / 'keeper.yaml')
    ctl = Ctl(test, address)
    check('what was kept is judged by the keys that it has now', not ctl.get('com.acme/x'))
    check('the node ends', test.interrupt(node) == 0)


class Pair:
    """A node that signs what a directory has, and one that requires that; between them there may be
    one that knows nothing of signatures."""

    def __init__(self, test, key, validity='86400s', has_middle=False):
        self.test = test
        self.files = test.work / 'resources'
        self.files.mkdir(exist_ok=True)
        (self.files / 'x.json').write_text(document('com.acme/x', 'hello'))
        self.signer_config = {
            'node': {'authority': 'acme'},
            'static_resources': {'directories': [{'path': str(self.files)}]},
            'signatures': {'validity': validity, 'keys': [
                {'key_id': key[0], 'private_key_file': str(key[1].private)}]}}
        self.signer, address = test.start_node(
            'signer', '-c', write(test, 'signer', self.signer_config))
        self.signer_ctl = Ctl(test, address)
        self.middle = None
        if has_middle:
            self.middle, address = test.start_node(
                'middle', '-c', write(test, 'middle', {'providers': self.providers(address)}))
        self.edge_config = {
            'providers': self.providers(address),
            'signatures': {'trusted': trusted(key), 'clock_skew': '0s',
                           'required': [{'namespaces': ['com.acme'], 'authorities': ['acme']}]}}
        self.edge, address = test.start_node('edge', '-c', write(test, 'edge', self.edge_config))
        self.ctl = Ctl(test, address)
        wait_for('the edge has it', self.there)

    @staticmethod
    def providers(address):
        return [{'types': [STRING.split('/')[1]], 'config_descriptors': [
            {'config_source': {'name': 'up', 'udpa': {'address': address}}}]}]

    def there(self):
        return self.ctl.get('com.acme/x')

    def key_id(self):
        there = self.there()
        return there and there['originInfo']['signature']['keyId']

    def sign_with(self, *keys):
        self.signer_config['signatures']['keys'] = [
            {'key_id': name, 'private_key_file': str(key.private)} for name, key in keys]
        write(self.test, 'signer', self.signer_config)
        self.signer.process.send_signal(signal.SIGHUP)

    def trust(self, *keys):
        """The edge sees by itself that its file has changed."""
        self.edge_config['signatures']['trusted'] = trusted(*keys)
        n = self.edge.text().count('more are trusted')
        write(self.test, 'edge', self.edge_config)
        wait_for('the edge has read its keys', lambda: self.edge.text().count(
            'more are trusted') > n)

    def end(self):
        for process in (self.edge, self.signer):
            check('the node ends', self.test.interrupt(process) == 0, process.text()[-3000:])


def check_rotation(test, keys):
    """Another key: trusted first, then signed with, then the old one is not trusted any more."""
    pair = Pair(test, ('k1', keys[0]))
    watch = test.start('watch', [*pair.ctl.command, 'watch', STRING, '-o', 'name'])
    watch.wait_for_log('added google.protobuf.StringValue/com.acme/x')
    pair.trust(('k1', keys[0]), ('k2', keys[1]))
    check('the old key counts as before', pair.key_id() == 'k1')
    pair.sign_with(('k2', keys[1]))
    wait_for('it comes with the new key', lambda: pair.key_id() == 'k2')
    pair.trust(('k2', keys[1]))
    check('it stays without the old one', pair.key_id() == 'k2')
    check('nobody was told anything: the contents are the same', 'removed' not in watch.text() and
          'changed' not in watch.text(), watch.text())
    pair.trust(('k3', keys[2]))
    watch.wait_for_log('removed google.protobuf.StringValue/com.acme/x')
    check('a key that is gone takes away what it has signed', not pair.there())
    pair.trust(('k2', keys[1]))
    wait_for('trusted again, it is asked for again', pair.there)
    pair.edge_config['signatures']['required'] = [{'namespaces': ['No']}]
    write(test, 'edge', pair.edge_config)
    pair.edge.process.send_signal(signal.SIGHUP)
    pair.edge.wait_for_log('the configuration stays as it was')
    check('a mistake in the file changes nothing', pair.key_id() == 'k2')
    watch.kill()
    pair.end()


def check_renewal(test, key):
    """Signed for six seconds, again and again, and forwarded by a node that knows nothing of that;
    without the signer it goes when they are over."""
    pair = Pair(test, ('k1', key), validity='6s', has_middle=True)
    watch = test.start('watch-renewal', [*pair.ctl.command, 'watch', STRING, '-o', 'name'])
    watch.wait_for_log('added google.protobuf.StringValue/com.acme/x')
    first = pair.there()['originInfo']
    wait_for('it has been signed again, and again', lambda: seconds(
        pair.there()['originInfo']['signature']['notBefore']) >= seconds(
            first['signature']['notBefore']) + 6)
    check('it was never away', 'removed' not in watch.text(), watch.text())
    there = pair.there()
    check('and it is what was signed, two nodes away', key.verifies(
        bytes_of(there), base64.b64decode(there['originInfo']['signature']['value'])), there)
    pair.signer_ctl('apply', '-f', '-', stdin=document(
        'com.acme/y', 'published', origin_info={'authority': 'acme'}))
    wait_for('what is published in the name of the authority is signed, too',
             lambda: pair.ctl.get('com.acme/y'))
    pair.signer.kill()
    time.sleep(0.5) # what it has sent arrives
    end = seconds(pair.there()['originInfo']['signature']['notAfter'])
    watch.wait_for_log('removed google.protobuf.StringValue/com.acme/x')
    check('it goes when its signature ends, and not before', 0 <= time.time() - end <= 10,
          time.time() - end)
    for node in (pair.edge, pair.middle):
        check('the node ends', test.interrupt(node) == 0, node.text()[-3000:])


def check_checking(test, keys):
    path = write(test, 'bad', {'signatures': {
        'keys': [{'key_id': 'a', 'private_key_file': str(keys[0].public)}],
        'required': [{'namespaces': ['com.Acme']}]}})
    done = subprocess.run([test.build / 'udpad', '--check', '-c', path], capture_output=True,
                          text=True, check=False)
    check('udpad --check finds a key that is none', 'holds no private key, but a public one' in
          done.stderr and done.returncode == 2, done.stderr)
    check('  and a namespace that is none', "namespace 'com.Acme' must be labels" in done.stderr,
          done.stderr)


def body(test):
    keys = [signed.Key(test.work, 'a'),
            signed.Key(test.work, 'b', signed.ECDSA_P256_SHA256),
            signed.Key(test.work, 'c')]
    ctl = Ctl(test)
    for key in keys[:2]:
        check_others_verify_ours(test, ctl, key)
        check_ours_verify_others(test, ctl, key)
    check_command_line(test, ctl, keys[0])
    check_checking(test, keys)
    check_publishing(test, keys)
    check_rotation(test, keys)
    check_renewal(test, keys[1])


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
