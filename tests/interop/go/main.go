// SPDX-License-Identifier: Apache-2.0

// A client of gRPC for Go that resolves its target by xDS, and two backends for it. It prints the
// ports of the backends, then a line for each change of the backend that answers; or, with -ordered,
// it makes as many calls as each line of its input says, and then tells how many those were in all.
// GRPC_XDS_BOOTSTRAP says where its management server is.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	_ "google.golang.org/grpc/xds"
)

const (
	patience = 20 * time.Second
	pause    = 10 * time.Millisecond
)

func startBackend() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { log.Fatal(server.Serve(listener)) }()
	return listener.Addr().(*net.TCPAddr).Port
}

// Whom a call reaches.
func ask(client healthpb.HealthClient) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var server peer.Peer
	answer, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true),
		grpc.Peer(&server))
	if err != nil {
		log.Fatal(err)
	}
	return fmt.Sprintf("answer %s %s", server.Addr, answer.Status)
}

// Until the input ends.
func obey(client healthpb.HealthClient) {
	var n, total int
	for {
		if _, err := fmt.Fscan(os.Stdin, &n); err != nil {
			return
		}
		for i := 0; i < n; i++ {
			ask(client)
		}
		total += n
		fmt.Printf("made %d\n", total)
	}
}

func main() {
	ordered := flag.Bool("ordered", false, "make calls as the input says, and no others")
	target := flag.String("target", "", "what to call, such as xds:///name")
	flag.Parse()
	fmt.Printf("backends %d %d\n", startBackend(), startBackend())
	connection, err := grpc.NewClient(*target,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	client := healthpb.NewHealthClient(connection)
	if *ordered {
		obey(client)
		return
	}
	for last := ""; ; time.Sleep(pause) {
		if now := ask(client); now != last {
			fmt.Println(now)
			last = now
		}
	}
}
