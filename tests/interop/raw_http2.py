# SPDX-License-Identifier: Apache-2.0
"""A client of HTTP/2 made by hand, for what libraries decide themselves: when to read, and how much the
server may send. It does not know headers: what it asks is what anybody asks of the floor of the
benchmark, which does not know them either."""
import socket
import struct

from stage import Failure

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
ACK = 1
END_HEADERS = 4
INITIAL_WINDOW = 4 # the setting
DEFAULT_WINDOW, WINDOW_MAX = 65535, 2 ** 31 - 1
PATIENCE_S = 30


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + \
        struct.pack('>I', stream) + payload


class Client:
    """A connection, and what has come on each of its streams."""

    def __init__(self, address, window=WINDOW_MAX, buffer=None):
        """window: of each stream; buffer: that of the socket."""
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE_S)
        host, port = address.rsplit(':', 1)
        self.socket.connect((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1) # frames are sent one by one
        self.input = self.socket.makefile('rb')
        self.data = {}
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, window)))
        self.open_window(0, WINDOW_MAX - DEFAULT_WINDOW)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.input.close()
        self.socket.close()

    def open_window(self, stream, more):
        self.socket.sendall(frame(WINDOW_UPDATE, 0, stream, struct.pack('>I', more)))

    def ask(self, stream):
        self.data[stream] = b''
        self.socket.sendall(frame(HEADERS, END_HEADERS, stream) + frame(DATA, 0, stream, b'\0' * 5))

    def read_bytes(self, size):
        try:
            found = self.input.read(size)
        except TimeoutError:
            found = b''
        if len(found) < size:
            raise Failure(f'instead of {size} bytes the server sent {len(found)}, and no more')
        return found

    def read_frame(self):
        """Data is kept."""
        head = self.read_bytes(9)
        kind, flags, stream = head[3], head[4], struct.unpack('>I', head[5:])[0]
        payload = self.read_bytes(struct.unpack('>I', b'\0' + head[:3])[0])
        if kind == DATA:
            self.data[stream] += payload
        return kind, flags, stream, payload

    def read(self):
        """A frame: its type and flags."""
        return self.read_frame()[:2]

    def read_for(self, stream, size):
        while len(self.data[stream]) < size:
            self.read()

    def ping(self):
        """Until the answer: what was sent before it has come, too."""
        self.socket.sendall(frame(PING, 0, 0, b'whatever'))
        while self.read() != (PING, ACK):
            pass

    def messages(self, stream):
        """Of gRPC; those that are whole."""
        rest = self.data[stream]
        while len(rest) >= 5 and len(rest) >= 5 + struct.unpack('>I', rest[1:5])[0]:
            size = struct.unpack('>I', rest[1:5])[0]
            yield rest[5:5 + size]
            rest = rest[5 + size:]
