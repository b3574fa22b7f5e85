# SPDX-License-Identifier: Apache-2.0
"""A proxy between clients and a node that sees the frames of HTTP/2, without TLS, and may change them.
What is not HTTP/2 it passes on as it comes."""
import asyncio

import relay
from attacks import PREFACE

HEAD_BYTES = 9


class Splitter:
    """Of one direction: the bytes that come, as the preface and frames, each whole."""

    def __init__(self, client=None):
        """client: of the other direction, if this is what a server sends."""
        self.client = client or self
        self.rest, self.preface = b'', b'' if client else PREFACE
        self.is_other = False # than HTTP/2

    def take(self, data):
        if self.client.is_other:
            return [data]
        self.rest += data
        found = []
        if self.preface and len(self.rest) >= len(self.preface):
            if not self.rest.startswith(self.preface):
                self.is_other = True
                return [self.rest]
            found.append(self.preface)
            self.rest, self.preface = self.rest[len(self.preface):], b''
        while not self.preface and len(self.rest) >= HEAD_BYTES:
            size = HEAD_BYTES + int.from_bytes(self.rest[:3], 'big')
            if len(self.rest) < size:
                break
            found.append(self.rest[:size])
            self.rest = self.rest[size:]
        return found


class Passed:
    """A connection that it has passed on. Overridden by what looks at frames, or changes them."""

    async def pass_on(self, data, is_client, writer):
        """data: a frame, the preface, or a piece of what is neither."""
        writer.write(data)


class FrameProxy(relay.Relay):
    """Each connection is what make() returns; splits: else bytes are passed on as
    pieces, as with TLS."""

    def __init__(self, port, make=Passed, splits=True):
        self.make, self.splits, self.connections = make, splits, []
        super().__init__(port)

    async def accept(self, reader, writer):
        connection = self.make()
        self.connections.append(connection)
        there_writer = None
        try:
            there_reader, there_writer = await self.connect_on()
            client = Splitter()
            await asyncio.gather(self.copy(reader, there_writer, connection, client),
                                 self.copy(there_reader, writer, connection, Splitter(client)))
        except OSError:
            pass
        for one in (writer, there_writer):
            if one:
                one.close()

    async def copy(self, reader, writer, connection, splitter):
        is_client = splitter.client is splitter
        try:
            while data := await reader.read(relay.PIECE):
                for part in splitter.take(data) if self.splits else [data]:
                    if writer.is_closing():
                        return
                    await connection.pass_on(part, is_client, writer)
                await writer.drain()
        except OSError:
            pass
        writer.close()
