// SPDX-License-Identifier: Apache-2.0

// go-control-plane as a server that the conformance suite can change: all its services, on its
// linear or its snapshot cache. Changes come by standard input, as `udpactl conform --change` writes
// them.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	endpointservice "github.com/envoyproxy/go-control-plane/envoy/service/endpoint/v3"
	extensionservice "github.com/envoyproxy/go-control-plane/envoy/service/extension/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	runtimeservice "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	secretservice "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resource "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const node = "all"

type oneNode struct{}

func (oneNode) ID(*core.Node) string { return node }

var kinds = map[string]types.ResponseType{
	resource.ClusterType:  types.Cluster,
	resource.EndpointType: types.Endpoint,
	resource.ListenerType: types.Listener,
	resource.RouteType:    types.Route,
	resource.SecretType:   types.Secret,
	resource.RuntimeType:  types.Runtime,

	resource.ScopedRouteType:     types.ScopedRoute,
	resource.ExtensionConfigType: types.ExtensionConfig,
	resource.VirtualHostType:     types.VirtualHost,
}

type change struct {
	typeURL, name string
	resource      *types.ResourceWithTTL // nil: removed
}

// A cache that takes changes, all at once if it can.
type changer interface {
	cache() cache.Cache
	abilities() string
	apply(changes []change) error
}

// ---- linear: one cache for each type, which has no ttl ----

type linear struct {
	caches map[string]*cache.LinearCache
}

func newLinear() *linear {
	l := &linear{caches: map[string]*cache.LinearCache{}}
	for typeURL := range kinds {
		l.caches[typeURL] = cache.NewLinearCache(typeURL)
	}
	return l
}

func (l *linear) cache() cache.Cache {
	mux := &cache.MuxCache{
		Classify:      func(request *cache.Request) string { return request.GetTypeUrl() },
		ClassifyDelta: func(request *cache.DeltaRequest) string { return request.GetTypeUrl() },
		Caches:        map[string]cache.Cache{},
	}
	for typeURL, one := range l.caches {
		mux.Caches[typeURL] = one
	}
	return mux
}

// Caches of different types know nothing of each other, so nothing is changed at once.
// Names are any text to it, URLs, too.
func (l *linear) abilities() string { return "xdstp" }

func (l *linear) apply(changes []change) error {
	updates := map[string]map[string]types.Resource{}
	removals := map[string][]string{}
	for _, one := range changes {
		if one.resource == nil {
			removals[one.typeURL] = append(removals[one.typeURL], one.name)
			continue
		}
		if updates[one.typeURL] == nil {
			updates[one.typeURL] = map[string]types.Resource{}
		}
		updates[one.typeURL][one.name] = one.resource.Resource
	}
	for typeURL, target := range l.caches {
		if len(updates[typeURL])+len(removals[typeURL]) == 0 {
			continue
		}
		if err := target.UpdateResources(updates[typeURL], removals[typeURL]); err != nil {
			return err
		}
	}
	return nil
}

// ---- snapshot: one for all clients ----

type snapshot struct {
	snapshots cache.SnapshotCache
	items     map[string]map[string]types.ResourceWithTTL
	versions  map[string]int
}

func newSnapshot(ads bool) (*snapshot, error) {
	s := &snapshot{
		snapshots: cache.NewSnapshotCache(ads, oneNode{}, nil),
		items:     map[string]map[string]types.ResourceWithTTL{},
		versions:  map[string]int{},
	}
	for typeURL := range kinds {
		s.items[typeURL] = map[string]types.ResourceWithTTL{}
	}
	return s, s.set()
}

func (s *snapshot) set() error {
	next := &cache.Snapshot{}
	for typeURL, kind := range kinds {
		next.Resources[kind] = cache.Resources{
			Version: strconv.Itoa(s.versions[typeURL]),
			Items:   map[string]types.ResourceWithTTL{},
		}
		for name, one := range s.items[typeURL] {
			next.Resources[kind].Items[name] = one
		}
	}
	return s.snapshots.SetSnapshot(context.Background(), node, next)
}

func (s *snapshot) cache() cache.Cache { return s.snapshots }
func (s *snapshot) abilities() string  { return "atomic ttl xdstp" }

func (s *snapshot) apply(changes []change) error {
	for _, one := range changes {
		if one.resource == nil {
			delete(s.items[one.typeURL], one.name)
		} else {
			s.items[one.typeURL][one.name] = *one.resource
		}
		s.versions[one.typeURL]++
	}
	return s.set()
}

// ---- changes ----

// What a client said last of what it refuses.
type refusal struct {
	mutex sync.Mutex
	text  string
}

func (r *refusal) note(detail *status.Status) error {
	if detail != nil {
		r.mutex.Lock()
		r.text = detail.GetMessage()
		r.mutex.Unlock()
	}
	return nil
}

func (r *refusal) callbacks() server.Callbacks {
	return server.CallbackFuncs{
		StreamRequestFunc: func(_ int64, request *discovery.DiscoveryRequest) error {
			return r.note(request.GetErrorDetail())
		},
		StreamDeltaRequestFunc: func(_ int64, request *discovery.DeltaDiscoveryRequest) error {
			return r.note(request.GetErrorDetail())
		},
	}
}

func (r *refusal) last() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return strings.ReplaceAll(r.text, "\n", " ")
}

type commands struct {
	target  changer
	refused *refusal
	staged  []change
}

func decode(typeURL, text string) (types.Resource, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	message, err := (&anypb.Any{TypeUrl: typeURL, Value: data}).UnmarshalNew()
	if err != nil {
		return nil, err
	}
	return message.(proto.Message), nil
}

func (c *commands) stage(words []string) string {
	one := change{typeURL: words[1], name: words[2]}
	if words[0] == "set" {
		message, err := decode(words[1], words[4])
		if err != nil {
			return "error " + err.Error()
		}
		one.resource = &types.ResourceWithTTL{Resource: message}
		for _, word := range words[5:] {
			if ms, ok := strings.CutPrefix(word, "ttl_ms="); ok {
				n, _ := strconv.Atoi(ms)
				ttl := time.Duration(n) * time.Millisecond
				one.resource.TTL = &ttl
			}
		}
	}
	c.staged = append(c.staged, one)
	return "ok"
}

func (c *commands) answer(words []string) string {
	switch {
	case words[0] == "abilities":
		return "ok " + c.target.abilities()
	case words[0] == "set" && len(words) >= 5, words[0] == "remove" && len(words) == 3:
		if _, known := kinds[words[1]]; !known {
			return "unsupported no cache is for " + words[1]
		}
		return c.stage(words)
	case words[0] == "refused": // not of the suite
		return "ok " + c.refused.last()
	case words[0] == "abort":
		c.staged = nil
	case words[0] == "commit":
		staged := c.staged
		c.staged = nil
		sort.SliceStable(staged, func(i, j int) bool { return staged[i].typeURL < staged[j].typeURL })
		if err := c.target.apply(staged); err != nil {
			return "error " + err.Error()
		}
	default:
		return "error what is " + words[0] + "?"
	}
	return "ok"
}

func makeCache(kind string) (changer, error) {
	switch kind {
	case "linear":
		return newLinear(), nil
	case "snapshot":
		return newSnapshot(false)
	case "ads":
		return newSnapshot(true)
	}
	return nil, fmt.Errorf("-cache %s: must be linear, snapshot, or ads", kind)
}

// What its gateway answers, as the example of its own does.
func serveREST(address string, xds server.Server) {
	gateway := server.HTTPGateway{Server: xds}
	handler := func(writer http.ResponseWriter, request *http.Request) {
		body, code, err := gateway.ServeHTTP(request)
		if err != nil {
			http.Error(writer, err.Error(), code)
			return
		}
		if body == nil {
			writer.WriteHeader(http.StatusNotModified)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		_, _ = writer.Write(body)
	}
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(handler)))
}

func main() {
	kind := flag.String("cache", "snapshot", "linear, snapshot, or ads: a snapshot for ADS alone")
	address := flag.String("listen", "127.0.0.1:0", "where to listen")
	rest := flag.String("rest", "", "where to listen for REST")
	flag.Parse()
	target, err := makeCache(*kind)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	refused := &refusal{}
	grpcServer := grpc.NewServer(grpc.MaxConcurrentStreams(100000))
	xds := server.NewServer(context.Background(), target.cache(), refused.callbacks())
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, xds)
	clusterservice.RegisterClusterDiscoveryServiceServer(grpcServer, xds)
	endpointservice.RegisterEndpointDiscoveryServiceServer(grpcServer, xds)
	listenerservice.RegisterListenerDiscoveryServiceServer(grpcServer, xds)
	routeservice.RegisterRouteDiscoveryServiceServer(grpcServer, xds)
	routeservice.RegisterScopedRoutesDiscoveryServiceServer(grpcServer, xds)
	routeservice.RegisterVirtualHostDiscoveryServiceServer(grpcServer, xds)
	secretservice.RegisterSecretDiscoveryServiceServer(grpcServer, xds)
	runtimeservice.RegisterRuntimeDiscoveryServiceServer(grpcServer, xds)
	extensionservice.RegisterExtensionConfigDiscoveryServiceServer(grpcServer, xds)
	go func() { log.Fatal(grpcServer.Serve(listener)) }()
	if *rest != "" {
		go serveREST(*rest, xds)
	}
	taker := commands{target: target, refused: refused}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Println(taker.answer(strings.Fields(lines.Text())))
	}
}
