# SPDX-License-Identifier: Apache-2.0
"""What stands between clients and a server: it takes connections of TCP on a thread of its own."""
import asyncio
import threading

PIECE = 65536


class Relay:
    """It ends with the process. accept(reader, writer) is what becomes of a connection."""

    def __init__(self, port):
        self.to_port, self.port = port, None
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.loop.run_until_complete, args=(self.serve(started),), daemon=True).start()
        started.wait()

    @property
    def address(self):
        return f'127.0.0.1:{self.port}'

    async def serve(self, started):
        server = await asyncio.start_server(self.accept, '127.0.0.1', 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        async with server:
            await server.serve_forever()

    async def connect_on(self):
        """To the server."""
        return await asyncio.open_connection('127.0.0.1', self.to_port)
