// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"udpa.test/bench/fleet"
)

const (
	methods      = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
	deltaMethod  = methods + "DeltaAggregatedResources"
	sotwMethod   = methods + "StreamAggregatedResources"
	connectLimit = 60 * time.Second
)

// One client, on a connection of its own as an Envoy has: it asks for all clusters, then by name for
// the endpoints of each, and acknowledges what comes.
type stream struct {
	crowd      *crowd
	index      int
	isDelta    bool
	connection *grpc.ClientConn
	cancel     context.CancelFunc
	call       grpc.ClientStream

	missing map[string]int    // how many resources of a type have not come yet
	has     map[string][]bool // which have come; nil when all have
	seen    int               // serial of the last change that was noted
}

func newStream(c *crowd, index int, isDelta bool) (*stream, error) {
	connection, err := grpc.NewClient(c.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}),
			grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	s := &stream{crowd: c, index: index, isDelta: isDelta, connection: connection,
		missing: map[string]int{}, has: map[string][]bool{}}
	for _, typeURL := range fleet.Types {
		s.missing[typeURL] = c.nResources
		s.has[typeURL] = make([]bool, c.nResources)
	}
	return s, s.connect()
}

func (s *stream) connect() error {
	limit, end := context.WithTimeout(context.Background(), connectLimit)
	defer end()
	s.connection.Connect()
	for state := s.connection.GetState(); state != connectivity.Ready; {
		if !s.connection.WaitForStateChange(limit, state) {
			return fmt.Errorf("%s: no connection within %v", s.crowd.address, connectLimit)
		}
		state = s.connection.GetState()
	}
	method := sotwMethod
	if s.isDelta {
		method = deltaMethod
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	call, err := s.connection.NewStream(ctx,
		&grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	s.call = call
	return err
}

func (s *stream) close() {
	s.cancel()
	s.connection.Close()
}

// ---- requests ----

func mustMarshal(message proto.Message) []byte {
	data, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return data
}

func (s *stream) node() *core.Node {
	return &core.Node{Id: fmt.Sprintf("client-%05d", s.index), Cluster: "bench"}
}

func (s *stream) subscribeClusters() error {
	if s.isDelta {
		return s.call.SendMsg(mustMarshal(&discovery.DeltaDiscoveryRequest{
			Node: s.node(), TypeUrl: fleet.ClusterType}))
	}
	return s.call.SendMsg(mustMarshal(&discovery.DiscoveryRequest{
		Node: s.node(), TypeUrl: fleet.ClusterType}))
}

func (s *stream) subscribeEndpoints() error {
	if s.isDelta {
		return s.call.SendMsg(s.crowd.deltaNames)
	}
	return s.call.SendMsg(s.crowd.sotwNames)
}

func (s *stream) acknowledge(r *response) error {
	if s.isDelta {
		return s.call.SendMsg(mustMarshal(&discovery.DeltaDiscoveryRequest{
			TypeUrl: r.typeURL, ResponseNonce: r.nonce}))
	}
	ack := mustMarshal(&discovery.DiscoveryRequest{
		VersionInfo: r.version, TypeUrl: r.typeURL, ResponseNonce: r.nonce})
	if r.typeURL == fleet.EndpointType {
		// Every request repeats the names. What is concatenated is merged.
		ack = append(ack, s.crowd.sotwNames...)
	}
	return s.call.SendMsg(ack)
}

// ---- responses ----

// Notes what has come of the first state.
func (s *stream) note(r *response) error {
	has := s.has[r.typeURL]
	for _, resource := range r.resources {
		i, err := resourceIndex(resource, s.isDelta)
		if err != nil {
			return err
		}
		if i < len(has) && !has[i] {
			has[i] = true
			s.missing[r.typeURL]--
		}
	}
	if has == nil || s.missing[r.typeURL] > 0 {
		return nil
	}
	s.has[r.typeURL] = nil
	if r.typeURL == fleet.ClusterType {
		return s.subscribeEndpoints()
	}
	s.crowd.synced()
	return nil
}

func (s *stream) take(data []byte, arrived time.Time) error {
	s.crowd.arrived(arrived)
	if expected := s.crowd.expected.Load(); expected != nil && s.seen < expected.serial &&
		bytes.Contains(data, expected.mark) {
		s.seen = expected.serial
		expected.note(s.index, arrived)
	}
	r, err := parseResponse(data)
	if err == nil && s.has[r.typeURL] != nil {
		err = s.note(&r)
	}
	if err == nil {
		err = s.acknowledge(&r)
	}
	return err
}

// Runs until the stream ends; returns why.
func (s *stream) run() error {
	err := s.subscribeClusters()
	for err == nil {
		var data []byte
		if err = s.call.RecvMsg(&data); err == nil {
			err = s.take(data, time.Now())
		}
	}
	return err
}
