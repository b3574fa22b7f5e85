// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
)

const namesMax = 1000000

// What is measured with: numbered resources, each with as many endpoints.
type fleet struct {
	n, nEndpoints int
}

func name(i int) string {
	return fmt.Sprintf("com.acme/%06d", i)
}

func lbEndpoint(k int) *endpoint.LbEndpoint {
	address := &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address:       fmt.Sprintf("10.%d.%d.%d", k>>16&255, k>>8&255, k&255),
		PortSpecifier: &core.SocketAddress_PortValue{PortValue: 8080},
	}}}
	return &endpoint.LbEndpoint{
		HealthStatus:   core.HealthStatus_HEALTHY,
		HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{Address: address}},
	}
}

// The mark, by which a client finds the change in the bytes, is of one length for all serials.
func (f fleet) make(i int, serial uint64) *endpoint.ClusterLoadAssignment {
	locality := &endpoint.LocalityLbEndpoints{
		Locality: &core.Locality{SubZone: fmt.Sprintf("udpa.bench:%016x", serial)},
	}
	for k := 0; k < f.nEndpoints; k++ {
		locality.LbEndpoints = append(locality.LbEndpoints, lbEndpoint(k))
	}
	return &endpoint.ClusterLoadAssignment{
		ClusterName: name(i),
		Endpoints:   []*endpoint.LocalityLbEndpoints{locality},
	}
}

// How many endpoints make a resource as large as that.
func endpointsFor(sizeBytes int) int {
	n := 1
	for proto.Size(fleet{nEndpoints: n}.make(0, 0)) < sizeBytes {
		n++
	}
	return n
}
