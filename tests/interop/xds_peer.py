# SPDX-License-Identifier: Apache-2.0
"""Clients of xDS made by hand on grpcio, which do what real ones should not."""
import queue
import threading
import time

import grpc
from envoy.service.discovery.v3 import discovery_pb2

from interop import Failure

ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/'
METHODS = {True: ADS + 'DeltaAggregatedResources', False: ADS + 'StreamAggregatedResources'}
PREFIX = 'type.googleapis.com/'
CLUSTER = PREFIX + 'envoy.config.cluster.v3.Cluster'
ENDPOINTS = PREFIX + 'envoy.config.endpoint.v3.ClusterLoadAssignment'
PATIENCE_S = 30
STREAM_S = 10 * PATIENCE_S # longer than any test; for one that hangs
# Otherwise clients of one process would share a connection.
OWN_CONNECTION = ('grpc.use_local_subchannel_pool', 1)
NO_LIMIT = ('grpc.max_receive_message_length', -1)


class Client:
    """One stream. What it receives can be had one by one; without that it is not even read."""

    def __init__(self, address, is_delta=True, method=None, options=(), credentials=None,
                 node_id='by-hand', beside=None, timeout_s=STREAM_S):
        """beside: another client, whose connection it shares."""
        self.is_delta = is_delta
        self.node_id = node_id
        self.method = method or METHODS[is_delta]
        self.asked = {} # the names of each type, which SotW repeats in its answers
        self.outbox = queue.Queue()
        options = [OWN_CONNECTION, *options]
        self.channel = beside.channel if beside else \
            grpc.secure_channel(address, credentials, options) if credentials else \
            grpc.insecure_channel(address, options)
        request, response = (
            (discovery_pb2.DeltaDiscoveryRequest, discovery_pb2.DeltaDiscoveryResponse)
            if is_delta else (discovery_pb2.DiscoveryRequest, discovery_pb2.DiscoveryResponse))
        self.request = request
        call = self.channel.stream_stream(
            self.method, response_deserializer=response.FromString,
            request_serializer=lambda message: message if isinstance(message, bytes)
            else message.SerializeToString())
        self.stream = call(iter(self.outbox.get, None), timeout=timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.outbox.put(None)
        self.stream.cancel()
        self.channel.close()

    def send(self, type_url, names=(), **fields):
        self.asked[type_url] = names
        request = self.request(type_url=type_url, **fields)
        request.node.id = self.node_id
        getattr(request, 'resource_names_subscribe' if self.is_delta else 'resource_names').extend(
            names)
        self.outbox.put(request)

    def answer(self, response, error=None):
        """Acknowledges a response, or refuses it."""
        fields = {'response_nonce': response.nonce}
        if not self.is_delta:
            fields['resource_names'] = self.asked[response.type_url]
            fields['version_info'] = '' if error else response.version_info
        request = self.request(type_url=response.type_url, **fields)
        if error:
            request.error_detail.code = 3
            request.error_detail.message = error
        self.outbox.put(request)

    def receive(self):
        try:
            return next(self.stream)
        except (grpc.RpcError, StopIteration):
            raise Failure(f'{self.method} ended: {self.stream.code()}: {self.stream.details()}') \
                from None

    def status(self):
        """With what the stream is ended, whatever came before."""
        try:
            for _ in self.stream:
                pass
            return grpc.StatusCode.OK, ''
        except grpc.RpcError as error:
            return error.code(), error.details()


class Watcher:
    """A client as it should be, that is served all the while, and says when it has seen a payload."""

    def __init__(self, address):
        self.client = Client(address)
        self.seen = queue.Queue()
        self.client.send(CLUSTER)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                self.client.answer(response)
                for resource in response.resources:
                    self.seen.put(resource.resource.value)
        except grpc.RpcError as error:
            self.seen.put(error)

    def wait_for(self, mark, patience_s):
        """Until these bytes have come in a payload; how long it took."""
        begin = time.monotonic()
        while True:
            left = patience_s - (time.monotonic() - begin)
            try:
                value = self.seen.get(timeout=max(left, 0.001))
            except queue.Empty:
                raise Failure(f'{mark} has not come within {patience_s} s') from None
            if isinstance(value, grpc.RpcError):
                raise Failure(f'the stream of the watcher ended: {value.details()}')
            if mark in value:
                return time.monotonic() - begin
