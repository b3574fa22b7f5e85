# SPDX-License-Identifier: Apache-2.0
"""A UDPA peer on grpcio, which shares no code with the node it talks to: it publishes, and it reads
what the node says of itself."""
import functools
import queue
import threading

import grpc
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

from interop import Failure

METHOD = '/udpa.service.discovery.v1.UdpaDiscoveryService/StreamMessages'
PREFIX = 'type.googleapis.com/'
PATIENCE_S = 20
# A publish must stay below what a node takes from a client, which is 4 MiB.
RESOURCES_IN_A_PUBLISH = 1000


class Schema:
    """The messages of the node's own protocol, from the descriptors of its build."""

    def __init__(self, build):
        files = descriptor_pb2.FileDescriptorSet.FromString(
            (build / 'proto' / 'udpa.descriptors').read_bytes())
        self.pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            self.pool.Add(file)

    def message(self, name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))


@functools.lru_cache
def schema_of(build):
    return Schema(build)


def any_of(message):
    packed = any_pb2.Any()
    packed.Pack(message, deterministic=True)
    return packed


class Peer:
    """One stream. Resources are pairs of a name without namespace and a message, or an Any."""

    def __init__(self, build, address, node_id='publisher', namespace='local', credentials=None,
                 more_options=(), features=('udpa.ext.v1',)):
        self.schema = schema_of(build)
        self.namespace, self.features = namespace, features
        self.udpa_message = self.schema.message('udpa.service.discovery.v1.UdpaMessage')
        self.outbox = queue.Queue()
        self.inbox = queue.Queue()
        self.n_published = 0
        options = [('grpc.max_receive_message_length', -1),
                   ('grpc.use_local_subchannel_pool', 1), *more_options]
        self.channel = grpc.secure_channel(address, credentials, options) if credentials else \
            grpc.insecure_channel(address, options)
        call = self.channel.stream_stream(
            METHOD, request_serializer=self.udpa_message.SerializeToString,
            response_deserializer=self.udpa_message.FromString)
        self.stream = call(iter(self.outbox.get, None))
        threading.Thread(target=self.read, daemon=True).start()
        self.send_node(node_id)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.outbox.put(None)
        self.stream.cancel()
        self.channel.close()

    def read(self):
        try:
            for message in self.stream:
                self.inbox.put(message)
        except grpc.RpcError as error:
            self.inbox.put(error)

    def send_node(self, node_id):
        node = self.schema.message('envoy.config.core.v3.Node')(
            id=node_id, client_features=self.features)
        message = self.udpa_message()
        resource = message.publish.delta.resources.add(name=node_id)
        resource.resource.type_url = PREFIX + 'envoy.config.core.v3.Node'
        resource.resource.value = node.SerializeToString()
        self.outbox.put(message)

    def next_message(self, wanted):
        """The next message of this kind; others are for nobody here."""
        while True:
            try:
                message = self.inbox.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise Failure(f'no {wanted} came within {PATIENCE_S} s') from None
            if isinstance(message, grpc.RpcError):
                raise Failure(f'the stream ended: {message.code()}: {message.details()}')
            if message.WhichOneof('message') == wanted:
                return message

    def publish_delta(self, fill):
        """Publishes what fill() puts into the DeltaPublish; returns the receipt's refusals."""
        message = self.udpa_message()
        delta = message.publish.delta
        fill(delta)
        self.n_published += 1
        delta.nonce = str(self.n_published)
        delta.receipt_required = True
        self.outbox.put(message)
        while True:
            receipt = self.next_message('receipt').receipt
            if receipt.nonce == delta.nonce:
                return [status for status in receipt.error_detail if status.code]

    def publish(self, resources, is_lazy=False, aliases=()):
        """All of it must be taken. What is lazy comes to those who ask for it by name, or by an alias."""
        resources = list(resources)
        for begin in range(0, len(resources), RESOURCES_IN_A_PUBLISH):
            def fill(delta, part=resources[begin:begin + RESOURCES_IN_A_PUBLISH]):
                for name, message in part:
                    packed = message if isinstance(message, any_pb2.Any) else any_of(message)
                    entry = delta.resources.add(name=f'{self.namespace}/{name}')
                    entry.resource.type_url = packed.type_url
                    entry.resource.value = packed.value
                    entry.delivery = int(is_lazy)
                    entry.aliases.extend(f'{self.namespace}/{alias}' for alias in aliases)
            refused = self.publish_delta(fill)
            if refused:
                raise Failure(f'the node has refused: {refused[0].message}')

    def remove(self, type_name, names):
        def fill(delta):
            delta.type_url = PREFIX + type_name
            delta.removed_resources.extend(f'{self.namespace}/{name}' for name in names)
        refused = self.publish_delta(fill)
        if refused:
            raise Failure(f'the node has refused a removal: {refused[0].message}')

    def collect(self, type_name, namespace):
        """Everything of a type in a namespace, unpacked, by name."""
        message = self.udpa_message()
        message.subscribe.type_url = PREFIX + type_name
        message.subscribe.namespace = namespace
        message.subscribe.resource_names.append('*')
        self.outbox.put(message)
        found = {}
        while True:
            delta = self.next_message('publish').publish.delta
            for resource in delta.resources:
                if resource.resource.type_url == PREFIX + type_name:
                    found[resource.name] = self.schema.message(type_name).FromString(
                        resource.resource.value)
            if delta.complete and delta.type_url == PREFIX + type_name:
                return found

    def first_payload(self, type_url, namespace):
        """Of the first resource of the type: the bytes of its message, as they came."""
        message = self.udpa_message()
        message.subscribe.type_url = type_url
        message.subscribe.namespace = namespace
        message.subscribe.resource_names.append('*')
        self.outbox.put(message)
        while True:
            for resource in self.next_message('publish').publish.delta.resources:
                if resource.resource.type_url == type_url:
                    return resource.resource.value


def sessions(build, address):
    """The SessionStatus of every stream of the node."""
    with Peer(build, address, 'onlooker') as peer:
        return list(peer.collect('udpa.status.v1.SessionStatus', 'udpa.node').values())
