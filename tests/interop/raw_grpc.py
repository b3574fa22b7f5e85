# SPDX-License-Identifier: Apache-2.0
"""Calls of gRPC made by hand, for what its libraries do not do: messages that stop half way."""
import struct

from stage import Failure
from raw_http2 import (ACK, DATA, DEFAULT_WINDOW, END_HEADERS, HEADERS, INITIAL_WINDOW, SETTINGS,
                       WINDOW_UPDATE, Client, frame)

RST_STREAM, GOAWAY = 3, 7
END_STREAM = 1
FRAME_MAX = 16384


class Ended(Failure):
    """The server has ended the call."""


def header(name, value):
    """A literal that nobody is to remember."""
    return b'\0' + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


class Call(Client):
    """One call on a connection of its own, that sends no faster than the server takes it."""

    STREAM = 1

    def __init__(self, address, path):
        super().__init__(address)
        self.windows = {0: DEFAULT_WINDOW, self.STREAM: DEFAULT_WINDOW}
        self.initial_window = DEFAULT_WINDOW
        self.data[self.STREAM] = b''
        fields = {':method': 'POST', ':scheme': 'http', ':path': path, ':authority': address,
                  'content-type': 'application/grpc', 'te': 'trailers'}
        self.socket.sendall(frame(HEADERS, END_HEADERS, self.STREAM,
                                  b''.join(header(*field) for field in fields.items())))
        while self.read()[0] != SETTINGS: # how much may be sent at once
            pass

    def take_settings(self, payload):
        for name, value in struct.iter_unpack('>HI', payload):
            if name == INITIAL_WINDOW:
                self.windows[self.STREAM] += value - self.initial_window
                self.initial_window = value

    def read(self):
        kind, flags, stream, payload = self.read_frame()
        if kind == SETTINGS and not flags & ACK:
            self.take_settings(payload)
            self.socket.sendall(frame(SETTINGS, ACK, 0))
        elif kind == WINDOW_UPDATE:
            self.windows[stream] += struct.unpack('>I', payload)[0]
        elif kind in (RST_STREAM, GOAWAY) or (kind == HEADERS and flags & END_STREAM):
            raise Ended(f'the server has ended the call: {payload}')
        return kind, flags

    def send(self, payload):
        """As far as the server lets us, and no faster."""
        sent = 0
        while sent < len(payload):
            room = min(self.windows[0], self.windows[self.STREAM], FRAME_MAX, len(payload) - sent)
            if room <= 0:
                self.read()
                continue
            self.socket.sendall(frame(DATA, 0, self.STREAM, payload[sent:sent + room]))
            for window in self.windows:
                self.windows[window] -= room
            sent += room

    def begin_message(self, size):
        self.send(b'\0' + struct.pack('>I', size))

    def say(self, message):
        self.begin_message(len(message))
        self.send(message)

    def hear(self):
        """Until something has come."""
        while not self.data[self.STREAM]:
            self.read()
