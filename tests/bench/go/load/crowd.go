// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"udpa.test/bench/fleet"
)

const (
	opening  = 64 // connections that are made at a time
	quiet    = 200 * time.Millisecond
	patience = 120 * time.Second
)

// A change that every client must see.
type expectation struct {
	serial  int
	mark    []byte
	begin   time.Time
	took    []time.Duration // by client
	missing atomic.Int32
	done    chan struct{}
}

func (e *expectation) note(index int, arrived time.Time) {
	e.took[index] = arrived.Sub(e.begin)
	if e.missing.Add(-1) == 0 {
		close(e.done)
	}
}

// All clients of one server.
type crowd struct {
	address    string
	nResources int
	deltaNames []byte // requests for all endpoints by name
	sotwNames  []byte

	streams  []*stream
	nSynced  atomic.Int32
	last     atomic.Int64 // when a response came last
	expected atomic.Pointer[expectation]
	isOver   atomic.Bool
}

func newCrowd(address string, nResources int) *crowd {
	names := make([]string, nResources)
	for i := range names {
		names[i] = fleet.Name(i)
	}
	return &crowd{
		address: address, nResources: nResources,
		deltaNames: mustMarshal(&discovery.DeltaDiscoveryRequest{
			TypeUrl: fleet.EndpointType, ResourceNamesSubscribe: names}),
		sotwNames: mustMarshal(&discovery.DiscoveryRequest{
			TypeUrl: fleet.EndpointType, ResourceNames: names}),
	}
}

func (c *crowd) synced() { c.nSynced.Add(1) }

func (c *crowd) arrived(at time.Time) { c.last.Store(at.UnixNano()) }

func isDelta(index int) bool { return index%2 == 0 }

// Makes the connections, a few at a time.
func (c *crowd) connect(n int) error {
	c.streams = make([]*stream, n)
	errs := make(chan error, n)
	slots := make(chan struct{}, opening)
	for i := 0; i < n; i++ {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var err error
			c.streams[i], err = newStream(c, i, isDelta(i))
			errs <- err
		}()
	}
	for i := 0; i < n; i++ {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// Runs a client; a stream that ends by itself ends everything.
func (c *crowd) start(s *stream) {
	go func() {
		err := s.run()
		if s.call.Context().Err() == nil && !c.isOver.Load() {
			log.Fatalf("client %d: the stream ended: %v", s.index, err)
		}
	}()
}

// Lets all clients ask at once; returns when each has everything.
func (c *crowd) sync() (time.Duration, error) {
	begin := time.Now()
	for _, s := range c.streams {
		c.start(s)
	}
	for int(c.nSynced.Load()) < len(c.streams) {
		if time.Since(begin) > patience {
			return 0, fmt.Errorf("%d of %d clients have everything after %v", c.nSynced.Load(),
				len(c.streams), patience)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Unix(0, c.last.Load()).Sub(begin), nil
}

// Waits until no responses come any more, so that what follows is measured alone.
func (c *crowd) settle() {
	for {
		rest := quiet - time.Since(time.Unix(0, c.last.Load()))
		if rest <= 0 {
			return
		}
		time.Sleep(rest)
	}
}

// Triggers a change and waits until every client has it.
func (c *crowd) measure(target *udpaChanger, kind, i, serial int) (*expectation, error) {
	e := &expectation{
		serial: serial, mark: []byte(fleet.Mark(serial)), done: make(chan struct{}),
		took: make([]time.Duration, len(c.streams)),
	}
	e.missing.Store(int32(len(c.streams)))
	change := target.prepare(kind, i, serial)
	e.begin = time.Now()
	c.expected.Store(e)
	if err := change(); err != nil {
		return nil, err
	}
	select {
	case <-e.done:
		return e, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("change %d of %s has not reached %d of %d clients after %v", serial,
			fleet.Types[kind], e.missing.Load(), len(c.streams), patience)
	}
}

func (c *crowd) close() {
	c.isOver.Store(true)
	var all sync.WaitGroup
	for _, s := range c.streams {
		all.Go(s.close)
	}
	all.Wait()
}
