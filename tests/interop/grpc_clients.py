# SPDX-License-Identifier: Apache-2.0
"""gRPC's own xDS clients, each with two backends that it may be led to. All are asked the same way:
which of the two backends answers a call now?"""
import concurrent.futures
import os
import pathlib

import interop
import grpc
import grpc_service

HERE = pathlib.Path(__file__).resolve().parent
METHOD = '/interop.Echo/Name'
PATIENCE_S = 20


class Backend:
    """Answers every call with its own name."""

    def __init__(self, name):
        answer = grpc.unary_unary_rpc_method_handler(lambda *_: name.encode())
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler('interop.Echo', {'Name': answer})])
        self.port = self.server.add_insecure_port('127.0.0.1:0')
        self.server.start()


class PythonClient:
    """gRPC's C core, in this process. GRPC_XDS_BOOTSTRAP_CONFIG must be set before."""

    def __init__(self, _test, _ordered=False):
        self.backends = [Backend('first'), Backend('second')]
        self.ports = [backend.port for backend in self.backends]
        self.channel = grpc.insecure_channel(f'xds:///{grpc_service.NAME}')
        self.call = self.channel.unary_unary(METHOD)
        self.asked = None

    def begin(self):
        """Asks, without waiting: who has asked needs an answer of its management server."""
        self.asked = self.call.future(b'', timeout=PATIENCE_S, wait_for_ready=True)

    def wait_for_answer(self, index):
        """Until the backend of this index answers; a call that fails is a failure."""
        wanted = ('first', 'second')[index]
        if self.asked:
            self.asked.result()
            self.asked = None
        interop.wait_for(f'an answer of the {wanted} backend', lambda: self.call(
            b'', timeout=PATIENCE_S, wait_for_ready=True).decode() == wanted)

    def make_calls(self, n):
        """So many, and no others."""
        for _ in range(n):
            self.call(b'', timeout=PATIENCE_S, wait_for_ready=True)

    def close(self):
        self.channel.close()
        for backend in self.backends:
            backend.server.stop(0)


class GoClient:
    """gRPC for Go, in a process of its own, which calls all the time and ends when a call fails; or,
    if it is ordered, only when it is told to."""

    def __init__(self, test, ordered=False):
        program = interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-client')
        self.process = interop.Process([program, '-target', f'xds:///{grpc_service.NAME}',
                                        *(['-ordered'] if ordered else [])],
                                       test.work / 'client.log', takes_orders=ordered)
        test.processes.append(self.process)
        self.n_made = 0
        line = self.process.wait_for_log('backends ')
        self.ports = [int(port) for port in line.split()[1:]]

    def begin(self):
        """It has begun by itself."""

    def wait_for_answer(self, index):
        """Until the last line says that it is the backend of this index."""
        wanted = f'answer 127.0.0.1:{self.ports[index]} SERVING'
        self.process.wait_for_log(wanted)
        interop.wait_for(wanted, lambda: self.process.text().splitlines()[-1] == wanted)

    def make_calls(self, n):
        """So many, and no others."""
        self.n_made += n
        self.process.process.stdin.write(f'{n}\n'.encode())
        self.process.process.stdin.flush()
        wanted = f'made {self.n_made}'
        interop.wait_for(wanted, lambda: wanted in self.process.text().splitlines())

    def close(self):
        self.process.kill()


CLIENTS = {'go': GoClient, 'python': PythonClient}


def use(*addresses):
    """The management servers of the clients that are made from now on."""
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(*addresses)
