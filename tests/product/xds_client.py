# SPDX-License-Identifier: Apache-2.0
"""A client of delta xDS, made by hand: it needs no library of gRPC."""
import pathlib
import sys

from product import wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'interop'))

from raw_grpc import Call, Ended  # noqa: E402

__all__ = ['CLUSTER', 'Call', 'Client', 'Ended', 'field']

ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources'
CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'


def varint(number):
    out = b''
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields_of(message):
    """Those with a length, by their numbers: all that a response has."""
    at, found = 0, {}

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if message[at - 1] < 0x80:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            number()
            continue
        size = number()
        found[key >> 3], at = message[at:at + size], at + size
    return found


class Client(Call):
    """A client of delta xDS that subscribes to all resources of a type."""

    def __init__(self, address, node_id, type_url=CLUSTER):
        super().__init__(address, ADS)
        self.type_url = type_url
        self.say(field(1, field(1, node_id)) + field(2, type_url) + field(3, '*'))

    def reject(self, why):
        """The first response that has something."""
        def response():
            for message in self.messages(self.STREAM):
                parts = fields_of(message)
                if 2 in parts:
                    return parts
            self.read()
            return None
        parts = wait_for('a response', response)
        self.say(field(2, self.type_url) + field(6, parts[5]) + field(7, field(1, 3) + field(2, why)))
