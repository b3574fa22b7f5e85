// SPDX-License-Identifier: Apache-2.0

// A client of gRPC for Node.js that resolves its target by xDS, and two backends for it. It prints the
// ports of the backends, then a line for each change of the backend that answers.
// GRPC_XDS_BOOTSTRAP_CONFIG says where its management server is.
'use strict';

const grpc = require('@grpc/grpc-js');
require('@grpc/grpc-js-xds').register();

const PATIENCE_MS = 20000;
const PAUSE_MS = 10;

const asIs = (bytes) => bytes;
const Echo = grpc.makeGenericClientConstructor({
  Name: {
    path: '/interop.Echo/Name',
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
}, 'interop.Echo');

// Resolves to its port, which is also what it answers.
function startBackend() {
  return new Promise((resolve, reject) => {
    const server = new grpc.Server();
    let port = 0;
    server.addService(Echo.service, {
      Name: (call, answer) => answer(null, Buffer.from(`${port}`)),
    });
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => {
      port = bound;
      return error ? reject(error) : resolve(port);
    });
  });
}

function ask(client) {
  return new Promise((resolve, reject) => {
    const metadata = new grpc.Metadata({ waitForReady: true });
    client.Name(Buffer.alloc(0), metadata, { deadline: Date.now() + PATIENCE_MS },
      (error, text) => (error ? reject(error) : resolve(text.toString())));
  });
}

async function main(target) {
  console.log(`backends ${await startBackend()} ${await startBackend()}`);
  const client = new Echo(target, grpc.credentials.createInsecure());
  for (let last = ''; ;) {
    const now = await ask(client);
    if (now !== last) {
      console.log(`answer ${now}`);
      last = now;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
