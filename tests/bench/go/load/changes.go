// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"udpa.test/bench/fleet"
)

// udpad is published to by UDPA.

const (
	udpaMethod = "/udpa.service.discovery.v1.UdpaDiscoveryService/StreamMessages"
	nodeType   = "type.googleapis.com/envoy.config.core.v3.Node"
	publisher  = "bench"
	namespace  = "local/"
	batch      = 1000
)

type udpaChanger struct {
	call      grpc.ClientStream
	nonce     int
	published int
	receipts  chan error
}

func newUdpaChanger(address string) (*udpaChanger, error) {
	connection, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	if err != nil {
		return nil, err
	}
	call, err := connection.NewStream(context.Background(),
		&grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, udpaMethod)
	if err != nil {
		return nil, err
	}
	u := &udpaChanger{call: call, receipts: make(chan error, 16)}
	node := &core.Node{Id: publisher, ClientFeatures: []string{"udpa.ext.v1"}}
	err = call.SendMsg(publish(resource(publisher, nodeType, node)))
	go u.read()
	return u, err
}

// Resource {name = 1, resource = 3}, as an element of DeltaPublish.resources.
func resource(name, typeURL string, payload proto.Message) []byte {
	packed := appendField(appendField(nil, 1, []byte(typeURL)), 2, mustMarshal(payload))
	return appendField(nil, 1, appendField(appendField(nil, 1, []byte(name)), 3, packed))
}

func appendField(data []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(data, number, protowire.BytesType), value)
}

// UdpaMessage {publish = 3 {delta = 2}}
func publish(delta []byte) []byte {
	return appendField(nil, 3, appendField(nil, 2, delta))
}

// Publishes and wants a receipt: DeltaPublish {nonce = 3, receipt_required = 4}.
func (u *udpaChanger) publishSafely(delta []byte) error {
	u.nonce++
	delta = appendField(delta, 3, []byte(strconv.Itoa(u.nonce)))
	delta = protowire.AppendVarint(protowire.AppendTag(delta, 4, protowire.VarintType), 1)
	if err := u.call.SendMsg(publish(delta)); err != nil {
		return err
	}
	return <-u.receipts
}

// UdpaMessage {receipt = 4 {error_detail = 2 {message = 2}}}
func (u *udpaChanger) read() {
	for {
		var data []byte
		if err := u.call.RecvMsg(&data); err != nil {
			u.receipts <- err
			return
		}
		receipt := field(data, 4)
		if receipt == nil {
			continue
		}
		var refusal error
		if status := field(receipt, 2); status != nil {
			refusal = errors.New("udpad refuses what is published: " + string(field(status, 2)))
		}
		u.receipts <- refusal
	}
}

func (u *udpaChanger) load(nResources int) error {
	for _, typeURL := range fleet.Types {
		for begin := 0; begin < nResources; begin += batch {
			var delta []byte
			for i := begin; i < min(begin+batch, nResources); i++ {
				delta = append(delta, resource(namespace+fleet.Name(i), typeURL,
					fleet.Make(typeURL, i, 0))...)
			}
			if err := u.publishSafely(delta); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *udpaChanger) prepare(kind, i, serial int) func() error {
	typeURL := fleet.Types[kind]
	message := publish(resource(namespace+fleet.Name(i), typeURL, fleet.Make(typeURL, i, serial)))
	return func() error { return u.call.SendMsg(message) }
}

// DeltaPublish {removed_resources = 2, type_url = 5}
func (u *udpaChanger) remove(kind, i int) error {
	delta := appendField(nil, 2, []byte(namespace+fleet.Name(i)))
	return u.call.SendMsg(publish(appendField(delta, 5, []byte(fleet.Types[kind]))))
}
