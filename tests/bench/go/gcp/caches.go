// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// A cache, and how a resource of it is changed.
type changer interface {
	cache() cache.Cache
	change(i int, serial uint64) error
}

func makeCache(kind string, f fleet) (changer, error) {
	switch kind {
	case "linear":
		return newLinear(f), nil
	case "snapshot":
		return newSnapshot(f)
	}
	return nil, fmt.Errorf("--cache %s: must be linear or snapshot", kind)
}

// ---- linear ----

type linear struct {
	fleet
	resources *cache.LinearCache
}

func newLinear(f fleet) *linear {
	all := map[string]types.Resource{}
	for i := 0; i < f.n; i++ {
		all[name(i)] = f.make(i, 0)
	}
	return &linear{f, cache.NewLinearCache(resource.EndpointType, cache.WithInitialResources(all))}
}

func (l *linear) cache() cache.Cache { return l.resources }

func (l *linear) change(i int, serial uint64) error {
	return l.resources.UpdateResource(name(i), l.make(i, serial))
}

// ---- snapshot: one for all clients, which is its best case ----

const node = "all"

type oneNode struct{}

func (oneNode) ID(*core.Node) string { return node }

type snapshot struct {
	fleet
	snapshots cache.SnapshotCache
	resources []types.Resource
	version   int
}

func newSnapshot(f fleet) (*snapshot, error) {
	s := &snapshot{
		fleet:     f,
		snapshots: cache.NewSnapshotCache(false, oneNode{}, nil),
		resources: make([]types.Resource, f.n),
	}
	for i := range s.resources {
		s.resources[i] = f.make(i, 0)
	}
	return s, s.set()
}

func (s *snapshot) set() error {
	s.version++
	next, err := cache.NewSnapshot(strconv.Itoa(s.version),
		map[resource.Type][]types.Resource{resource.EndpointType: s.resources})
	if err != nil {
		return err
	}
	return s.snapshots.SetSnapshot(context.Background(), node, next)
}

func (s *snapshot) cache() cache.Cache { return s.snapshots }

func (s *snapshot) change(i int, serial uint64) error {
	s.resources[i] = s.make(i, serial)
	return s.set()
}
