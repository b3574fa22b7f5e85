// SPDX-License-Identifier: Apache-2.0

import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

// A client of gRPC for Java that resolves its target by xDS, and two backends for it. It prints the
// ports of the backends, then a line for each change of the backend that answers. The first call does
// not wait until the target is ready: if it fails, its time and status are printed.
// GRPC_XDS_BOOTSTRAP_CONFIG says where its management server is.
final class Client {
  private static final long PATIENCE_S = 30;
  private static final long PAUSE_MS = 10;

  private static final MethodDescriptor.Marshaller<String> TEXT =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(String text) {
          return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
          try {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
          } catch (IOException error) {
            throw new IllegalStateException(error);
          }
        }
      };

  private static final MethodDescriptor<String, String> METHOD =
      MethodDescriptor.newBuilder(TEXT, TEXT)
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("interop.Echo/Name")
          .build();

  private static Server startBackend() throws IOException {
    Server[] self = new Server[1];
    ServerServiceDefinition service =
        ServerServiceDefinition.builder("interop.Echo")
            .addMethod(METHOD, ServerCalls.asyncUnaryCall((request, answer) -> {
              answer.onNext(Integer.toString(self[0].getPort()));
              answer.onCompleted();
            }))
            .build();
    self[0] = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
        .addService(service).build().start();
    return self[0];
  }

  private static String ask(ManagedChannel channel, boolean waits) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
    return ClientCalls.blockingUnaryCall(
        channel, METHOD, waits ? options.withWaitForReady() : options, "");
  }

  public static void main(String[] arguments) throws Exception {
    System.out.println(
        "backends " + startBackend().getPort() + " " + startBackend().getPort());
    ManagedChannel channel =
        Grpc.newChannelBuilder(arguments[0], InsecureChannelCredentials.create()).build();
    String last = "";
    boolean waits = false;
    while (true) {
      long begin = System.nanoTime();
      try {
        String now = ask(channel, waits);
        if (!now.equals(last)) {
          System.out.println("answer " + now);
        }
        last = now;
      } catch (StatusRuntimeException error) {
        long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
        System.out.println("failed " + ms + " " + error.getStatus());
      }
      waits = true;
      Thread.sleep(PAUSE_MS);
    }
  }
}
