// SPDX-License-Identifier: Apache-2.0

// What a server of LRS costs in Go, with nothing around it: grpc-go, the messages of go-control-plane,
// and for each cluster a sum under a mutex. go-control-plane has no such server itself. It asks every
// client for all clusters, counts what they say, and keeps what each has in progress; it has no names, no
// rules, no epochs, and nobody is told of changes. On a second port it tells the sums: a line for each
// cluster, and an empty one, for each line that comes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	loads "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

type counts struct {
	successful, failed, issued, inProgress, clients uint64
}

type server struct {
	loads.UnimplementedLoadReportingServiceServer
	interval time.Duration
	mutex    sync.Mutex
	clusters map[string]*counts
}

// What a client has in progress in each cluster; one that has said nothing yet is in none.
type client map[string]uint64

func (s *server) take(who client, request *loads.LoadStatsRequest) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, stats := range request.GetClusterStats() {
		sum := s.clusters[stats.GetClusterName()]
		if sum == nil {
			sum = &counts{}
			s.clusters[stats.GetClusterName()] = sum
		}
		before, isKnown := who[stats.GetClusterName()]
		if !isKnown {
			sum.clients++
		}
		now := uint64(0)
		for _, locality := range stats.GetUpstreamLocalityStats() {
			sum.successful += locality.GetTotalSuccessfulRequests()
			sum.failed += locality.GetTotalErrorRequests()
			sum.issued += locality.GetTotalIssuedRequests()
			now += locality.GetTotalRequestsInProgress()
		}
		sum.inProgress += now - before
		who[stats.GetClusterName()] = now
	}
}

func (s *server) leave(who client) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for name, inProgress := range who {
		s.clusters[name].inProgress -= inProgress
		s.clusters[name].clients--
	}
}

func (s *server) StreamLoadStats(stream loads.LoadReportingService_StreamLoadStatsServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := stream.Send(&loads.LoadStatsResponse{
		SendAllClusters:       true,
		LoadReportingInterval: durationpb.New(s.interval),
	}); err != nil {
		return err
	}
	who := client{}
	defer s.leave(who)
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		s.take(who, request)
	}
}

func (s *server) tell(connection net.Conn) {
	defer connection.Close()
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		answer := bufio.NewWriter(connection)
		s.mutex.Lock()
		for name, sum := range s.clusters {
			fmt.Fprintln(answer, name, sum.successful, sum.failed, sum.issued, sum.inProgress,
				sum.clients)
		}
		s.mutex.Unlock()
		fmt.Fprintln(answer)
		if answer.Flush() != nil {
			return
		}
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	interval := flag.Duration("interval", time.Second, "in which clients are to report")
	flag.Parse()
	sums := &server{interval: *interval, clusters: map[string]*counts{}}
	streams, control := listen(), listen()
	go func() {
		for {
			connection, err := control.Accept()
			if err != nil {
				log.Fatal(err)
			}
			go sums.tell(connection)
		}
	}()
	grpcServer := grpc.NewServer(grpc.MaxConcurrentStreams(math.MaxUint32))
	loads.RegisterLoadReportingServiceServer(grpcServer, sums)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ends
		grpcServer.Stop()
	}()
	fmt.Printf("listening on %s, control %s\n", streams.Addr(), control.Addr())
	if err := grpcServer.Serve(streams); err != nil {
		log.Fatal(err)
	}
}
