// SPDX-License-Identifier: Apache-2.0

// The server that udpad is measured beside: ADS on go-control-plane, by its linear or its snapshot
// cache, or with a snapshot for each node. On a second port it takes changes, a line each: the index
// of a type, of a resource, and the serial of the change; one below zero takes the resource away, from
// the linear cache. It serves REST, too, if it is told where;
// for that it needs the snapshot cache.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"udpa.test/bench/fleet"
)

const node = "all"

// A cache, and how a resource of it is changed.
type changer interface {
	cache() cache.Cache
	change(kind, i, serial int) error
}

// ---- linear: one cache for each type ----

type linear struct {
	caches []*cache.LinearCache
}

func newLinear(n int) *linear {
	l := &linear{}
	for _, typeURL := range fleet.Types {
		all := map[string]types.Resource{}
		for i := 0; i < n; i++ {
			all[fleet.Name(i)] = fleet.Make(typeURL, i, 0)
		}
		l.caches = append(l.caches,
			cache.NewLinearCache(typeURL, cache.WithInitialResources(all)))
	}
	return l
}

func (l *linear) cache() cache.Cache {
	mux := &cache.MuxCache{
		Classify:      func(request *cache.Request) string { return request.GetTypeUrl() },
		ClassifyDelta: func(request *cache.DeltaRequest) string { return request.GetTypeUrl() },
		Caches:        map[string]cache.Cache{},
	}
	for kind, typeURL := range fleet.Types {
		mux.Caches[typeURL] = l.caches[kind]
	}
	return mux
}

func (l *linear) change(kind, i, serial int) error {
	if serial < 0 {
		return l.caches[kind].DeleteResource(fleet.Name(i))
	}
	return l.caches[kind].UpdateResource(fleet.Name(i),
		fleet.Make(fleet.Types[kind], i, serial))
}

// ---- snapshot: one for all clients, and a version for each type, both of which favour it ----

type oneNode struct{}

func (oneNode) ID(*core.Node) string { return node }

type snapshot struct {
	snapshots cache.SnapshotCache
	items     [][]types.Resource
	groups    []cache.Resources
}

var snapshotTypes = []types.ResponseType{types.Cluster, types.Endpoint}

func newSnapshot(n int) (*snapshot, error) {
	s := &snapshot{snapshots: cache.NewSnapshotCache(false, oneNode{}, nil)}
	for _, typeURL := range fleet.Types {
		items := make([]types.Resource, n)
		for i := range items {
			items[i] = fleet.Make(typeURL, i, 0)
		}
		s.items = append(s.items, items)
		s.groups = append(s.groups, cache.NewResources("0", items))
	}
	return s, s.set()
}

func (s *snapshot) set() error {
	next := &cache.Snapshot{}
	for kind, group := range s.groups {
		next.Resources[snapshotTypes[kind]] = group
	}
	return s.snapshots.SetSnapshot(context.Background(), node, next)
}

func (s *snapshot) cache() cache.Cache { return s.snapshots }

func (s *snapshot) change(kind, i, serial int) error {
	s.items[kind][i] = fleet.Make(fleet.Types[kind], i, serial)
	s.groups[kind] = cache.NewResources(strconv.Itoa(serial), s.items[kind])
	return s.set()
}

// ----

func takeChanges(listener net.Listener, target changer) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		lines := bufio.NewScanner(connection)
		for lines.Scan() {
			var kind, i, serial int
			if _, err := fmt.Sscan(lines.Text(), &kind, &i, &serial); err != nil {
				log.Fatalf("'%s': %v", lines.Text(), err)
			}
			if err := target.change(kind, i, serial); err != nil {
				log.Fatal(err)
			}
		}
		connection.Close()
	}
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

// What go-control-plane has for REST, as its documentation says to use it.
func serveREST(address string, gateway *server.HTTPGateway) {
	handler := func(writer http.ResponseWriter, request *http.Request) {
		body, status, err := gateway.ServeHTTP(request)
		if err != nil {
			http.Error(writer, err.Error(), status)
			return
		}
		writer.WriteHeader(status)
		if _, err := writer.Write(body); err != nil {
			log.Print(err)
		}
	}
	log.Fatal(http.Serve(listen(address), http.HandlerFunc(handler)))
}

func makeCache(kind string, n int) (changer, error) {
	switch kind {
	case "linear":
		return newLinear(n), nil
	case "snapshot":
		return newSnapshot(n)
	case "nodes":
		return newNodes(n), nil
	}
	return nil, fmt.Errorf("-cache %s: must be linear, snapshot or nodes", kind)
}

func main() {
	kind := flag.String("cache", "linear", "linear, snapshot or nodes")
	n := flag.Int("resources", 1000, "of each type")
	address := flag.String("listen", "127.0.0.1:0", "where clients reach it")
	rest := flag.String("rest", "", "where clients reach it by REST; empty: nowhere")
	flag.Parse()
	target, err := makeCache(*kind, *n)
	if err != nil {
		log.Fatal(err)
	}
	streams, changes := listen(*address), listen("127.0.0.1:0")
	go takeChanges(changes, target)
	grpcServer := grpc.NewServer(grpc.MaxConcurrentStreams(1000000))
	var callbacks server.Callbacks
	if target, ok := target.(*nodes); ok {
		callbacks = target.callbacks()
	}
	xds := server.NewServer(context.Background(), target.cache(), callbacks)
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, xds)
	if *rest != "" {
		go serveREST(*rest, &server.HTTPGateway{Server: xds})
	}
	fmt.Printf("listening on %s, changes on %s\n", streams.Addr(), changes.Addr())
	log.Fatal(grpcServer.Serve(streams))
}
