// SPDX-License-Identifier: Apache-2.0

// The server of the benchmark that is go-control-plane: ADS, delta and state of the world, by its
// linear or its snapshot cache. It takes the options, and the control connection, of the others that
// stand beside udpad (tests/bench/peers).
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"os"
	"os/signal"
	"syscall"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

type options struct {
	cache                       string
	nResources, sizeBytes       int
	certificate, key, authority string
}

func readOptions() options {
	o := options{}
	flag.StringVar(&o.cache, "cache", "linear", "linear or snapshot")
	flag.IntVar(&o.nResources, "resources", 1000, "how many there are")
	flag.IntVar(&o.sizeBytes, "size", 300, "bytes of a resource, at least")
	flag.StringVar(&o.certificate, "cert", "", "PEM file of the server's certificate: TLS")
	flag.StringVar(&o.key, "key", "", "PEM file of its private key")
	flag.StringVar(&o.authority, "ca", "", "PEM file of those who vouch for clients")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("%s: takes options alone", flag.Arg(0))
	}
	if o.nResources < 1 || o.nResources > namesMax {
		log.Fatalf("--resources %d: must be a number from 1 to %d", o.nResources, namesMax)
	}
	return o
}

// Mutual TLS, if there is a certificate.
func (o options) credentials() []grpc.ServerOption {
	if o.certificate == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil {
		log.Fatal(err)
	}
	pem, err := os.ReadFile(o.authority)
	if err != nil {
		log.Fatal(err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		log.Fatalf("%s: there is no certificate in it", o.authority)
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authorities,
	}))}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	o := readOptions()
	target, err := makeCache(o.cache, fleet{o.nResources, endpointsFor(o.sizeBytes)})
	if err != nil {
		log.Fatal(err)
	}
	streams, control := listen(), listen()
	go takeChanges(control, target, o.nResources)
	grpcServer := grpc.NewServer(append(o.credentials(),
		grpc.MaxConcurrentStreams(math.MaxUint32))...)
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer,
		server.NewServer(context.Background(), target.cache(), nil))
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
