#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""grpcurl, which knows of a node only what reflection tells it: it lists and describes the services,
asks for health, and holds UDPA conversations in JSON, in clear and with certificates.
"""
import json
import os
import subprocess
import sys

import interop

VERSION = 'v1.9.3'
PACKAGE = f'github.com/fullstorydev/grpcurl/cmd/grpcurl@{VERSION}'
SERVICE = 'udpa.service.discovery.v1.UdpaDiscoveryService'
METHOD = f'{SERVICE}/StreamMessages'
HEALTH = 'grpc.health.v1.Health'
SERVICES = {SERVICE, HEALTH, 'grpc.reflection.v1.ServerReflection',
            'grpc.reflection.v1alpha.ServerReflection',
            'envoy.service.health.v3.HealthDiscoveryService'}
NODE_TYPE = 'type.googleapis.com/envoy.config.core.v3.Node'
CDS = 'envoy.service.cluster.v3.ClusterDiscoveryService'
CLUSTER_TYPE = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
# Any type will do for a resource; grpcurl must be able to read and write it.
TYPE = 'type.googleapis.com/google.rpc.Status'
NAME = 'local/hello'
PATIENCE_S = 20


def grpcurl_or_skip(build):
    """Builds it once in the build directory; the checksum database vouches for the sources."""
    folder = build / f'grpcurl-{VERSION}'
    program = folder / 'grpcurl'
    if program.exists():
        return program
    built = subprocess.run([interop.go_or_skip(), 'install', '-p', '1', PACKAGE], text=True,
                           capture_output=True, check=False,
                           env={**os.environ, 'GOBIN': str(folder), 'GOFLAGS': '',
                                'GOTOOLCHAIN': 'local'})
    if built.returncode != 0:
        interop.skip(f'grpcurl cannot be built: {built.stderr.strip()[-600:]}')
    return program


def decode_all(text):
    """The JSON values that stand complete in the text, one behind the other."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield value


class Caller:
    """grpcurl and how it reaches one socket of a node."""

    def __init__(self, test, program, address, *options):
        self.test = test
        self.command = [program, '-connect-timeout', str(PATIENCE_S), *options]
        self.address = address

    def run(self, *words, options=()):
        done = subprocess.run([*self.command, *options, self.address, *words], text=True,
                              capture_output=True, timeout=2 * PATIENCE_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def get(self, *words, options=()):
        status, out, err = self.run(*words, options=options)
        if status != 0:
            raise interop.Failure(f'grpcurl {" ".join(words)} ended with {status}: {err.strip()}')
        return out

    def converse(self, who):
        return Conversation(self.test, who, [*self.command, '-d', '@', self.address, METHOD])


class Conversation(interop.Process):
    """One stream. What is said goes out at once, what was heard is in a file."""

    def __init__(self, test, who, command):
        self.who = who
        self.begin = 0
        self.log = test.work / f'{who}.json'
        self.errors = test.work / f'{who}.errors'
        with open(self.log, 'wb') as output, open(self.errors, 'wb') as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                            stderr=errors)
        test.processes.append(self)

    def say(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b'\n')
        self.process.stdin.flush()

    def say_node(self):
        self.say({'publish': {'delta': {'resources': [{'name': self.who, 'resource': {
            '@type': NODE_TYPE, 'id': self.who, 'clientFeatures': ['udpa.ext.v1']}}]}}})

    def wait_for(self, what, look):
        """The first true thing that look() says of a message."""
        def look_at_all():
            found = next(filter(None, map(look, decode_all(self.text()))), None)
            if not found and self.process.poll() is not None:
                raise interop.Failure(f'{self.who} ended with {self.process.returncode}: '
                                      f'{self.errors.read_text(encoding="utf-8").strip()}')
            return found
        return interop.wait_for(f'{self.who}: {what}', look_at_all, PATIENCE_S)

    def end(self):
        """Says that nothing will follow; the node must end the stream too, if it has not yet."""
        self.process.stdin.close()
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise interop.Failure(f'{self.who} does not come to an end') from None
        return status, ' '.join(self.errors.read_text(encoding='utf-8').split())


class NodeWithSockets(interop.Node):
    """udpad that listens where its bootstrap says, and not where the command line does."""

    def __init__(self, test, name, bootstrap):
        self.name = name
        interop.Process.__init__(self, [test.build / 'udpad', '--node-id', name, '--state',
                                        test.work / f'{name}-data', '-c', bootstrap],
                                 test.work / f'{name}.log')
        test.processes.append(self)
        self.address = self.wait_for_log('listening on ').split('listening on ')[1].split()[0]


def delta_of(message):
    return message.get('publish', {}).get('delta', {})


def publish(conversation, nonce, **delta):
    conversation.say({'publish': {'delta': {**delta, 'nonce': nonce, 'receiptRequired': True}}})
    receipt = conversation.wait_for(f'the receipt of publish {nonce}', lambda message: (
        message.get('receipt', {}).get('nonce') == nonce and message['receipt']))
    interop.check(f'publish {nonce} was taken whole', not receipt.get('errorDetail'))


def resource(text, version):
    return {'name': NAME, 'version': version, 'resource': {'@type': TYPE, 'message': text}}


def payload_of(message):
    """What the resource says in this message."""
    return [entry['resource']['message'] for entry in delta_of(message).get('resources', [])
            if entry['name'] == NAME and entry.get('resource', {}).get('@type') == TYPE]


def look_around(caller):
    services = set(caller.get('list').split())
    interop.check(f'reflection lists {", ".join(sorted(services))}', SERVICES <= services)
    text = caller.get('describe', SERVICE)
    interop.check('the service is described',
                  'rpc StreamMessages ( stream .udpa.service.discovery.v1.UdpaMessage ) returns '
                  '( stream .udpa.service.discovery.v1.UdpaMessage );' in text)
    text = caller.get('describe', '.udpa.service.discovery.v1.Resource')
    interop.check('and a message, with the types of other files',
                  'string name = 1;' in text and '.google.protobuf.Any resource = 3;' in text)
    for service in sorted(services):
        interop.check(f'{service} is described', 'is a service' in caller.get('describe', service))
    status, _, err = caller.run('describe', 'no.such.Thing')
    interop.check('what is not there is said not to be there',
                  status != 0 and 'no.such.Thing' in err)


def ask_for_health(caller):
    answer = json.loads(caller.get(f'{HEALTH}/Check'))
    interop.check('the node is healthy', answer == {'status': 'SERVING'})
    of_service = ('-d', json.dumps({'service': SERVICE}))
    answer = json.loads(caller.get(f'{HEALTH}/Check', options=of_service))
    interop.check('and so is its service', answer == {'status': 'SERVING'})
    status, _, err = caller.run(f'{HEALTH}/Check', options=('-d', '{"service": "no.Such"}'))
    interop.check('an unknown service is not found', status != 0 and 'NotFound' in err)


def talk(caller):
    publisher, reader = caller.converse('publisher'), caller.converse('reader')
    for one in (publisher, reader):
        one.say_node()
        one.wait_for('the Node of the node', lambda message: any(
            entry.get('resource', {}).get('@type') == NODE_TYPE
            for entry in delta_of(message).get('resources', [])))
    publish(publisher, '1', resources=[resource('first words', 'v1')])
    reader.say({'subscribe': {'typeUrl': TYPE, 'namespace': 'local', 'resourceNames': ['*']}})
    reader.wait_for('the resource', lambda message: 'first words' in payload_of(message))
    reader.wait_for('that this is all', lambda message: (
        delta_of(message).get('complete') and delta_of(message).get('typeUrl') == TYPE))
    interop.check('a resource was published, and came to a subscriber', True)
    publish(publisher, '2', resources=[resource('other words', 'v2')])
    reader.wait_for('the new version', lambda message: 'other words' in payload_of(message))
    publish(publisher, '3', typeUrl=TYPE, removedResources=[NAME])
    reader.wait_for('the removal', lambda message: NAME in delta_of(message).get(
        'removedResources', []))
    interop.check('and so did its change and its removal', True)
    for one in (publisher, reader):
        status, err = one.end()
        interop.check(f'{one.who} ends in peace', status == 0 and not err)


def fetch(caller):
    empty = json.loads(caller.get(f'{CDS}/FetchClusters'))
    interop.check('a fetch has one answer, also if there is nothing',
                  empty['typeUrl'] == CLUSTER_TYPE and 'resources' not in empty)
    caller.get(f'{CDS}/FetchClusters', options=('-d', json.dumps({'resourceNames': ['a', 'b']})))
    status, _, err = caller.run(f'{CDS}/FetchClusters',
                                options=('-d', json.dumps({'typeUrl': TYPE})))
    interop.check(f'another type is refused: {" ".join(err.split())}',
                  status != 0 and 'InvalidArgument' in err and TYPE in err)


def break_the_rules(caller):
    rude = caller.converse('rude')
    rude.say({'subscribe': {'typeUrl': TYPE, 'resourceNames': ['*']}})
    status, err = rude.end()
    interop.check(f'who does not say first who he is, is told: {err}',
                  status != 0 and 'FailedPrecondition' in err and 'Node' in err)


def use_certificates(test, program):
    certificates = test.work / 'certificates'
    for name in ('node', 'caller'):
        subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', certificates, name],
                       check=True, stdout=subprocess.DEVNULL)
    bootstrap = test.work / 'tls.yaml'
    bootstrap.write_text('sockets:\n  - address: 127.0.0.1:0\n    tls:\n'
                         f'      certificate_file: {certificates}/node.crt\n'
                         f'      private_key_file: {certificates}/node.key\n'
                         f'      client_ca_file: {certificates}/ca.crt\n', encoding='utf-8')
    address = NodeWithSockets(test, 'tls', bootstrap).address
    trust = ('-cacert', certificates / 'ca.crt')
    mine = ('-cert', certificates / 'caller.crt', '-key', certificates / 'caller.key')
    ask_for_health(Caller(test, program, address, *trust, *mine))
    talk(Caller(test, program, address, *trust, *mine))
    # It tries again and again to connect, and in the end says why it cannot.
    few_tries = ('-connect-timeout', '2')
    status, _, err = Caller(test, program, address, *trust, *few_tries).run(f'{HEALTH}/Check')
    interop.check(f'without a certificate there is no answer: {" ".join(err.split())}', status != 0)
    status, _, err = Caller(test, program, address, *mine, *few_tries).run(f'{HEALTH}/Check')
    interop.check('and none for who does not trust the node', status != 0 and 'x509' in err)


def body(test):
    program = grpcurl_or_skip(test.build)
    node = interop.Node(test, 'node')
    caller = Caller(test, program, node.address, '-plaintext')
    look_around(caller)
    ask_for_health(caller)
    talk(caller)
    fetch(caller)
    break_the_rules(caller)
    use_certificates(test, program)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
