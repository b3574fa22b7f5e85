// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Passes messages through as bytes. Responses are looked at, not unpacked: with many streams on the
// machine of the server, unpacking is what would be measured.
type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(message any) ([]byte, error) {
	return message.([]byte), nil
}

func (rawCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = data
	return nil
}

var errCut = errors.New("a message from the server is cut short")

// Calls each for every field that has a length; what it is given lies in data.
func eachField(data []byte, each func(number protowire.Number, value []byte) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errCut
		}
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return errCut
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			if err := each(number, value); err != nil {
				return err
			}
		}
		data = data[size:]
	}
	return nil
}

func field(data []byte, wanted protowire.Number) []byte {
	var found []byte
	_ = eachField(data, func(number protowire.Number, value []byte) error {
		if number == wanted {
			found = value
		}
		return nil
	})
	return found
}

// Numbers that DiscoveryResponse and DeltaDiscoveryResponse have in common.
const (
	fieldVersion   = 1
	fieldResources = 2
	fieldTypeURL   = 4
	fieldNonce     = 5
)

type response struct {
	version, typeURL, nonce string
	resources               [][]byte // as they are in the message
}

func parseResponse(data []byte) (response, error) {
	var parsed response
	err := eachField(data, func(number protowire.Number, value []byte) error {
		switch number {
		case fieldVersion:
			parsed.version = string(value)
		case fieldResources:
			parsed.resources = append(parsed.resources, value)
		case fieldTypeURL:
			parsed.typeURL = string(value)
		case fieldNonce:
			parsed.nonce = string(value)
		}
		return nil
	})
	return parsed, err
}

// The number in the name of a resource: delta has the name beside the payload, in the state of the
// world the payload says it, in field 1 of clusters and endpoints alike.
func resourceIndex(resource []byte, isDelta bool) (int, error) {
	var name []byte
	if isDelta {
		name = field(resource, 3)
	} else {
		name = field(field(resource, 2), 1)
	}
	var i int
	if _, err := fmt.Sscanf(string(name), "cluster-%06d", &i); err != nil {
		return 0, fmt.Errorf("a resource with the name '%s' was not asked for", name)
	}
	return i, nil
}
