#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A relay that nobody should trust, between a node that signs and an edge that requires signatures: it
strips, alters, forges and replays, and gets nowhere; what it leaves alone arrives."""
import copy
import json
import sys
import time

import interop
import udpa_peer

sys.path.insert(0, str(interop.SOURCE / 'tests' / 'product'))
import signed  # noqa: E402

STRING = 'google.protobuf.StringValue'
URL = udpa_peer.PREFIX + STRING
DENIED, INVALID = 7, 3


class Relay:
    """It takes from the signer what it is given, and is a source of the edge, which it dials."""

    def __init__(self, test, signer, edge):
        self.has = {}
        self.up = udpa_peer.Peer(test.build, signer.address, 'relay')
        self.down = udpa_peer.Peer(test.build, edge.address, 'relay')
        message = self.up.udpa_message()
        message.subscribe.type_url = URL
        message.subscribe.resource_names.append('*')
        self.up.outbox.put(message)
        subscribe = self.down.next_message('subscribe').subscribe
        interop.check('the edge subscribes at the relay', subscribe.type_url == URL)

    def close(self):
        self.up.close()
        self.down.close()

    def take(self, name, after=0):
        """The resource of this name, with a generation above this, as the signer has sent it."""
        while name not in self.has or self.has[name].origin_info.generation <= after:
            for resource in self.up.next_message('publish').publish.delta.resources:
                self.has[resource.name] = resource
        return self.has[name]

    def give(self, resource):
        """Publishes it to the edge; the refusals of the receipt."""
        return self.down.publish_delta(lambda delta: delta.resources.add().MergeFromString(resource.SerializeToString()))

    def remove(self, name):
        def fill(delta):
            delta.type_url = URL
            delta.removed_resources.append(name)
        return self.down.publish_delta(fill)


def write(test, name, config):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps(config), encoding='utf-8')
    return path


def put(test, name, text, **more):
    (test.work / 'resources' / f'{name}.json').write_text(json.dumps(
        {'name': f'com.acme/{name}', 'resource': {'@type': URL, 'value': text}, **more}))


def start(test, acme):
    (test.work / 'resources').mkdir()
    put(test, 'x', 'first', aliases=['also-x'])
    put(test, 'y', 'other')
    signer = interop.Node(test, 'signer', bootstrap=write(test, 'signer', {
        'node': {'authority': 'acme'},
        'static_resources': {'directories': [{'path': str(test.work / 'resources')}]},
        'signatures': {'keys': [{'key_id': 'k1', 'private_key_file': str(acme.private)}]}}))
    edge = interop.Node(test, 'edge', bootstrap=write(test, 'edge', {
        'providers': [{'types': [STRING], 'config_descriptors': [
            {'config_source': {'name': 'relay', 'udpa_listen': {'peer': 'relay'}}}]}],
        'signatures': {
            'trusted': [{'authority': 'acme', 'key_id': 'k1', 'public_key_file': str(acme.public)}],
            'required': [{'namespaces': ['com.acme']}]}}))
    return signer, edge


def ask(peer, name):
    message = peer.udpa_message()
    message.subscribe.type_url = URL
    message.subscribe.namespace = 'com.acme'
    message.subscribe.resource_names.append(name)
    peer.outbox.put(message)


def served(test, edge):
    """What the edge serves: texts by name."""
    found = {}
    with udpa_peer.Peer(test.build, edge.address, 'onlooker') as peer:
        ask(peer, '*')
        while True:
            delta = peer.next_message('publish').publish.delta
            for resource in delta.resources:
                if resource.resource.type_url == URL:
                    found[resource.name] = resource.resource.value[2:].decode()
            if delta.complete:
                return found


def bytes_of(resource):
    info = resource.origin_info
    return signed.signed_bytes(
        info.authority, resource.resource.type_url, resource.name, resource.version,
        info.generation, resource.resource.value, info.signature.not_before.seconds,
        info.signature.not_after.seconds, resource.aliases, resource.delivery == 1,
        resource.do_not_cache)


def forge(resource, key, key_id=None):
    """As if it were signed, with a key of the relay's own."""
    resource.origin_info.signature.value = key.sign(bytes_of(resource))
    if key_id:
        resource.origin_info.signature.key_id = key_id


def attacks(other, mallory):
    """What a relay may do to a resource of another: a name, and a function that does it."""
    def payload(it):
        it.resource.value = b'\x0a\x04evil'

    def payload_and_version(it):
        payload(it)
        it.version = 'evil'

    def renamed(it):
        it.name = 'com.acme/z'
        del it.aliases[:]

    def forged(it):
        payload_and_version(it)
        forge(it, mallory)

    def as_another(it):
        payload_and_version(it)
        it.origin_info.authority = 'mallory'
        forge(it, mallory)

    return {
        'strips the signature': lambda it: it.origin_info.ClearField('signature'),
        'strips all of its origin': lambda it: it.ClearField('origin_info'),
        'empties the signature': lambda it: it.origin_info.signature.ClearField('value'),
        'takes the algorithm away': lambda it: it.origin_info.signature.ClearField('algorithm'),
        'names an algorithm that is none':
            lambda it: setattr(it.origin_info.signature, 'algorithm', 99),
        'names the other algorithm': lambda it: setattr(it.origin_info.signature, 'algorithm', 2),
        'alters the payload': payload, # which is a mistake for the version alone
        'alters the payload, and the version': payload_and_version,
        'alters the version': lambda it: setattr(it, 'version', 'evil'),
        'gives it another name': renamed,
        'gives it another type':
            lambda it: setattr(it.resource, 'type_url', udpa_peer.PREFIX + 'a.Type'),
        'gives its type another prefix':
            lambda it: setattr(it.resource, 'type_url', 'evil.example/' + STRING),
        'gives it another alias': lambda it: it.aliases.append('com.acme/evil'),
        'takes an alias away': lambda it: it.ClearField('aliases'),
        'makes it lazy': lambda it: setattr(it, 'delivery', 1),
        'forbids keeping it': lambda it: setattr(it, 'do_not_cache', True),
        'makes it newer':
            lambda it: setattr(it.origin_info, 'generation', it.origin_info.generation + 1),
        'takes its generation away': lambda it: it.origin_info.ClearField('generation'),
        'makes it last longer': lambda it: setattr(
            it.origin_info.signature.not_after, 'seconds',
            it.origin_info.signature.not_after.seconds + 86400),
        'makes it begin earlier': lambda it: setattr(
            it.origin_info.signature.not_before, 'seconds', 0),
        'gives it the signature of another':
            lambda it: it.origin_info.signature.CopyFrom(other.origin_info.signature),
        'speaks for another authority':
            lambda it: setattr(it.origin_info, 'authority', 'mallory'),
        'signs with a key of its own': forged,
        'signs in its own name': as_another,
        'names a key that nobody has':
            lambda it: setattr(it.origin_info.signature, 'key_id', 'k2'),
    }


def check_attacks(test, edge, relay, good, other):
    mallory = signed.Key(test.work, 'mallory')
    for what, attack in attacks(other, mallory).items():
        interop.check(f'the edge has it, before the relay {what}',
                      not relay.give(good) and served(test, edge)['com.acme/x'] == 'first')
        bad = copy.deepcopy(good)
        attack(bad)
        refused = relay.give(bad)
        if bad.resource.type_url != URL: # the edge has not asked for this at all
            interop.check(f'a relay that {what} is refused', len(refused) == 1)
            continue
        interop.check(f'a relay that {what} is refused: '
                      f'{refused[0].message if refused else "it is not"}',
                      len(refused) == 1 and refused[0].code in (DENIED, INVALID))
        now = served(test, edge)
        interop.check('  and the edge serves nothing that the authority has not signed',
                      set(now.items()) <= {('com.acme/x', 'first')})


def check_replay(test, edge, relay, old):
    put(test, 'x', 'second', aliases=['also-x'])
    new = relay.take('com.acme/x', old.origin_info.generation)
    interop.check('the newer one is taken', not relay.give(new))
    interop.check('  and served', served(test, edge)['com.acme/x'] == 'second')
    relay.give(old)
    interop.check('the older one changes nothing', served(test, edge)['com.acme/x'] == 'second')
    relay.remove('com.acme/x')
    interop.check('a relay can take it away', 'com.acme/x' not in served(test, edge))
    relay.give(old)
    interop.check('  but not put the older one in its place', 'com.acme/x' not in served(test, edge))
    with udpa_peer.Peer(test.build, edge.address, 'helper') as helper: # by another way
        refused = helper.publish_delta(lambda delta: delta.resources.add().MergeFromString(old.SerializeToString()))
        interop.check('  nor can a helper of it, and it is told why', len(refused) == 1 and
                      'is older than' in refused[0].message and
                      'com.acme/x' not in served(test, edge))
    relay.give(new)
    interop.check('the newest one may come back', served(test, edge)['com.acme/x'] == 'second')
    return new


def check_refreshes(test, edge, relay, good):
    """A refresh carries a signature, too."""
    refresh = copy.deepcopy(good)
    refresh.ClearField('resource')
    refresh.ClearField('aliases')
    interop.check('a refresh of what is there is taken', not relay.give(refresh))
    bad = copy.deepcopy(refresh)
    bad.origin_info.generation += 1
    refused = relay.give(bad)
    interop.check('one that is altered is refused', len(refused) == 1 and refused[0].code == DENIED)
    interop.check('  and is not served', 'com.acme/x' not in served(test, edge))
    interop.check('the good one is taken again', not relay.give(good))
    bad = copy.deepcopy(refresh)
    bad.origin_info.ClearField('signature')
    bad.origin_info.generation += 1
    refused = relay.give(bad)
    interop.check('one without its signature is refused',
                  len(refused) == 1 and refused[0].code == DENIED)


def check_by_hand(test, edge, relay, acme, good):
    """The key decides, not who holds it: signed by openssl, it is as good as any."""
    mine = copy.deepcopy(good)
    mine.name = 'com.acme/by-hand'
    mine.version = 'v1'
    mine.resource.value = b'\x0a\x05hello'
    mine.origin_info.generation = time.time_ns() // 1000
    mine.do_not_cache = True
    mine.delivery = 1
    mine.aliases[:] = ['com.acme/b', 'com.acme/a']
    mine.origin_info.signature.value = acme.sign(bytes_of(mine))
    interop.check('what openssl signs is taken', not relay.give(mine))
    with udpa_peer.Peer(test.build, edge.address, 'onlooker') as peer:
        ask(peer, 'com.acme/by-hand')
        peer.next_message('publish') # its Node
        found = next(iter(peer.next_message('publish').publish.delta.resources))
        interop.check('  and forwarded as it was signed', bytes_of(found) == bytes_of(mine) and
                      acme.verifies(bytes_of(found), found.origin_info.signature.value))


def body(test):
    acme = signed.Key(test.work, 'acme')
    signer, edge = start(test, acme)
    relay = Relay(test, signer, edge)
    good = relay.take('com.acme/x')
    other = relay.take('com.acme/y')
    interop.check('openssl verifies what the signer sends, by the bytes of the design',
                  acme.verifies(bytes_of(good), good.origin_info.signature.value))
    check_attacks(test, edge, relay, good, other)
    new = check_replay(test, edge, relay, good)
    check_refreshes(test, edge, relay, new)
    check_by_hand(test, edge, relay, acme, new)
    relay.close()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
