// SPDX-License-Identifier: Apache-2.0

// The control plane that Acme built years ago, on go-control-plane: each service is a cluster and its
// endpoints. Nothing of it knows of UDPA, and nobody works on it any more; but services can be taken
// out of it, by lines "remove NAME" on its standard input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

type everybody struct{}

func (everybody) ID(*core.Node) string { return "everybody" }

type mesh struct {
	snapshots cache.SnapshotCache
	ports     map[string]uint32
	version   int
}

func makeCluster(name string) types.Resource {
	return &cluster.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
		ConnectTimeout:       durationpb.New(time.Second),
		EdsClusterConfig: &cluster.Cluster_EdsClusterConfig{EdsConfig: &core.ConfigSource{
			ResourceApiVersion:    core.ApiVersion_V3,
			ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}},
		}},
	}
}

func makeEndpoints(name string, port uint32) types.Resource {
	address := &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address:       "127.0.0.1",
		PortSpecifier: &core.SocketAddress_PortValue{PortValue: port},
	}}}
	return &endpoint.ClusterLoadAssignment{
		ClusterName: name,
		Endpoints: []*endpoint.LocalityLbEndpoints{{LbEndpoints: []*endpoint.LbEndpoint{{
			HostIdentifier: &endpoint.LbEndpoint_Endpoint{
				Endpoint: &endpoint.Endpoint{Address: address},
			},
		}}}},
	}
}

func (m *mesh) publish() {
	var clusters, endpoints []types.Resource
	for name, port := range m.ports {
		clusters = append(clusters, makeCluster(name))
		endpoints = append(endpoints, makeEndpoints(name, port))
	}
	m.version++
	snapshot, err := cache.NewSnapshot(strconv.Itoa(m.version), map[resource.Type][]types.Resource{
		resource.ClusterType:  clusters,
		resource.EndpointType: endpoints,
	})
	if err == nil {
		err = m.snapshots.SetSnapshot(context.Background(), "everybody", snapshot)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Each argument is NAME=PORT.
func (m *mesh) read(services []string) error {
	for _, service := range services {
		name, port, found := strings.Cut(service, "=")
		number, err := strconv.ParseUint(port, 10, 16)
		if !found || err != nil {
			return fmt.Errorf("'%s': a service is NAME=PORT", service)
		}
		m.ports[name] = uint32(number)
	}
	return nil
}

func (m *mesh) takeOrders() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		name, found := strings.CutPrefix(lines.Text(), "remove ")
		if !found {
			log.Fatalf("'%s': the only order is 'remove NAME'", lines.Text())
		}
		delete(m.ports, name)
		m.publish()
		fmt.Printf("removed %s\n", name)
	}
}

func main() {
	address := flag.String("listen", "127.0.0.1:0", "where clients reach it")
	flag.Parse()
	m := &mesh{
		snapshots: cache.NewSnapshotCache(true, everybody{}, nil),
		ports:     map[string]uint32{},
	}
	if err := m.read(flag.Args()); err != nil {
		log.Fatal(err)
	}
	m.publish()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	go m.takeOrders()
	grpcServer := grpc.NewServer()
	xds := server.NewServer(context.Background(), m.snapshots, nil)
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, xds)
	fmt.Printf("listening on %s\n", listener.Addr())
	log.Fatal(grpcServer.Serve(listener))
}
