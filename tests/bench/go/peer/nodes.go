// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"udpa.test/bench/fleet"
)

// ---- nodes: a snapshot for each node, made when it asks, of what it says of itself ----

type nodes struct {
	snapshots cache.SnapshotCache
	n         int
	mutex     sync.Mutex
	known     map[string]*core.Node
}

func newNodes(n int) *nodes {
	return &nodes{
		snapshots: cache.NewSnapshotCache(false, cache.IDHash{}, nil),
		n:         n,
		known:     map[string]*core.Node{},
	}
}

func (s *nodes) cache() cache.Cache { return s.snapshots }

func (s *nodes) make(node *core.Node, serial int) error {
	version := fmt.Sprint(serial)
	clusters, endpoints := []types.Resource{}, []types.Resource{}
	for i := 0; i < s.n; i++ {
		one := fleet.Make(fleet.ClusterType, i, serial).(*cluster.Cluster)
		one.AltStatName = fmt.Sprintf("%s of %s in %s, %s: %d", node.GetId(), node.GetCluster(),
			node.GetLocality().GetZone(),
			node.GetMetadata().GetFields()["ROLE"].GetStringValue(), serial)
		clusters = append(clusters, one)
		endpoints = append(endpoints, fleet.Make(fleet.EndpointType, i, serial))
	}
	next := &cache.Snapshot{}
	next.Resources[types.Cluster] = cache.NewResources(version, clusters)
	next.Resources[types.Endpoint] = cache.NewResources(version, endpoints)
	return s.snapshots.SetSnapshot(context.Background(), node.GetId(), next)
}

func (s *nodes) meet(node *core.Node) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if node.GetId() == "" || s.known[node.GetId()] != nil {
		return nil
	}
	s.known[node.GetId()] = node
	fmt.Printf("node %s\n", node.GetId())
	return s.make(node, 0)
}

// What the i-th node has, by its name.
func (s *nodes) change(_, i, serial int) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	ids := []string{}
	for id := range s.known {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return s.make(s.known[ids[i]], serial)
}

func (s *nodes) callbacks() server.Callbacks {
	return server.CallbackFuncs{
		StreamRequestFunc: func(_ int64, request *discovery.DiscoveryRequest) error {
			return s.meet(request.GetNode())
		},
		FetchRequestFunc: func(_ context.Context, request *discovery.DiscoveryRequest) error {
			return s.meet(request.GetNode())
		},
		StreamDeltaRequestFunc: func(_ int64, request *discovery.DeltaDiscoveryRequest) error {
			return s.meet(request.GetNode())
		},
	}
}
