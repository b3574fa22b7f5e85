// SPDX-License-Identifier: Apache-2.0

// A server of go-control-plane with one service for clients of gRPC. Lines on standard input say what it
// has, and the port of its endpoint: "all PORT", or "without PORT", which lacks the listener.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	node    = "grpc-client"
	name    = "echo"
	route   = "echo-route"
	cluster = "echo-cluster"
)

func pack(message proto.Message) *anypb.Any {
	packed, err := anypb.New(message)
	if err != nil {
		log.Fatal(err)
	}
	return packed
}

func ads() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

func listener() *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
			Rds: &hcmv3.Rds{ConfigSource: ads(), RouteConfigName: route}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})}}},
	}
	return &listenerv3.Listener{
		Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: pack(manager)}}
}

func routes() *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: route, VirtualHosts: []*routev3.VirtualHost{{
		Name: "all", Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}},
		}},
	}}}
}

func clusters() *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 cluster,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads()},
	}
}

func endpoints(port uint32) *endpointv3.ClusterLoadAssignment {
	address := &corev3.Address{Address: &corev3.Address_SocketAddress{
		SocketAddress: &corev3.SocketAddress{Address: "127.0.0.1",
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}}
	return &endpointv3.ClusterLoadAssignment{
		ClusterName: cluster,
		Endpoints: []*endpointv3.LocalityLbEndpoints{{
			Locality:            &corev3.Locality{Region: "here"},
			LoadBalancingWeight: wrapperspb.UInt32(1),
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: address}}}},
		}},
	}
}

func set(snapshots cache.SnapshotCache, version int, port uint32, hasListener bool) {
	resources := map[resource.Type][]types.Resource{
		resource.RouteType:    {routes()},
		resource.ClusterType:  {clusters()},
		resource.EndpointType: {endpoints(port)},
	}
	if hasListener {
		resources[resource.ListenerType] = []types.Resource{listener()}
	}
	snapshot, err := cache.NewSnapshot(strconv.Itoa(version), resources)
	if err == nil {
		err = snapshots.SetSnapshot(context.Background(), node, snapshot)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	snapshots := cache.NewSnapshotCache(false, cache.IDHash{}, nil)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	peer := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(
		peer, server.NewServer(context.Background(), snapshots, nil))
	go func() { log.Fatal(peer.Serve(socket)) }()
	fmt.Println("listening on", socket.Addr())
	lines := bufio.NewScanner(os.Stdin)
	for version := 1; lines.Scan(); version++ {
		var what string
		var port uint32
		if _, err := fmt.Sscan(lines.Text(), &what, &port); err != nil {
			log.Fatal(err)
		}
		set(snapshots, version, port, what == "all")
	}
}
