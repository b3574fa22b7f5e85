// SPDX-License-Identifier: Apache-2.0

// A collector of traces that takes every request and looks at none: what it costs a node to be traced is
// measured with it.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The answer to a request that was taken whole is an empty message, too.
func take(_ any, stream grpc.ServerStream) error {
	if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
		return err
	}
	return stream.SendMsg(&emptypb.Empty{})
}

func main() {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(take))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		server.Stop()
	}()
	fmt.Printf("listening on %s\n", socket.Addr())
	if err := server.Serve(socket); err != nil {
		log.Fatal(err)
	}
}
