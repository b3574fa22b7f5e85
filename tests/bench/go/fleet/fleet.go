// SPDX-License-Identifier: Apache-2.0

// Package fleet makes the resources that are measured with: clusters that take their endpoints by
// EDS, and their endpoints. A changed one carries a mark that a client finds in its bytes.
package fleet

import (
	"fmt"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

	endpointsPerCluster = 7
)

// Types that are measured, in the order in which a client asks for them.
var Types = []string{ClusterType, EndpointType}

// Name of the cluster and of its endpoints.
func Name(i int) string {
	return fmt.Sprintf("cluster-%06d", i)
}

// Mark of a change: the same length for every serial, so that resources keep their size.
func Mark(serial int) string {
	return fmt.Sprintf("serial-%010d", serial)
}

// Cluster number i, as changed by this serial.
func Cluster(i, serial int) *cluster.Cluster {
	ads := &core.ConfigSource{
		ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}},
		ResourceApiVersion:    core.ApiVersion_V3,
	}
	return &cluster.Cluster{
		Name:                 Name(i),
		AltStatName:          Mark(serial),
		ConnectTimeout:       durationpb.New(time.Second),
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
		EdsClusterConfig:     &cluster.Cluster_EdsClusterConfig{EdsConfig: ads},
	}
}

func lbEndpoint(i, k int) *endpoint.LbEndpoint {
	address := &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address:       fmt.Sprintf("10.%d.%d.%d", i>>8&255, i&255, k),
		PortSpecifier: &core.SocketAddress_PortValue{PortValue: 8080},
	}}}
	return &endpoint.LbEndpoint{
		HealthStatus:   core.HealthStatus_HEALTHY,
		HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{Address: address}},
	}
}

// Endpoints of cluster number i, as changed by this serial.
func Endpoints(i, serial int) *endpoint.ClusterLoadAssignment {
	locality := &endpoint.LocalityLbEndpoints{
		Locality: &core.Locality{Region: "region", Zone: "zone", SubZone: Mark(serial)},
	}
	for k := 0; k < endpointsPerCluster; k++ {
		locality.LbEndpoints = append(locality.LbEndpoints, lbEndpoint(i, k))
	}
	return &endpoint.ClusterLoadAssignment{
		ClusterName: Name(i),
		Endpoints:   []*endpoint.LocalityLbEndpoints{locality},
	}
}

// Make a resource of one of the types.
func Make(typeURL string, i, serial int) proto.Message {
	if typeURL == ClusterType {
		return Cluster(i, serial)
	}
	return Endpoints(i, serial)
}
