// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"time"
)

// Most changes are of endpoints, as in life; some resources go away and come back.
const (
	clusterEvery = 10
	removalEvery = 25
)

type sample struct {
	Seconds     float64 `json:"seconds"`
	RSSKB       int64   `json:"rss_kb"`
	NChanges    int     `json:"n_changes"`
	NReconnects int     `json:"n_reconnects"`
	LastMs      float64 `json:"last_ms"` // how long the last change took to reach every client
}

// What goes on in a soak test; all of it on one goroutine.
type soaking struct {
	options  *options
	crowd    *crowd
	target   *udpaChanger
	chance   *rand.Rand
	serial   int
	now      sample
	changes  float64 // that are due
	renewals float64
}

// Ends one client's stream and connection, and begins another in its place.
func (s *soaking) reconnect() error {
	c := s.crowd
	i := s.chance.Intn(len(c.streams))
	old := c.streams[i]
	before := c.nSynced.Load()
	old.close()
	<-old.call.Context().Done()
	next, err := newStream(c, i, isDelta(i))
	if err != nil {
		return err
	}
	c.streams[i] = next
	c.start(next)
	s.now.NReconnects++
	for begin := time.Now(); c.nSynced.Load() == before; time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			return fmt.Errorf("client %d does not have everything %v after it came back", i,
				patience)
		}
	}
	return nil
}

// Every client sees every change: none is lost to a stream that lives on.
func (s *soaking) change() error {
	s.serial++
	kind := 1
	if s.serial%clusterEvery == 0 {
		kind = 0
	}
	i := s.chance.Intn(s.options.nResources)
	if s.serial%removalEvery == 0 {
		if err := s.target.remove(kind, i); err != nil {
			return err
		}
	}
	e, err := s.crowd.measure(s.target, kind, i, s.serial)
	if err != nil {
		return err
	}
	s.now.NChanges++
	for _, took := range e.took {
		s.now.LastMs = max(s.now.LastMs, milliseconds(took))
	}
	return nil
}

// Does what is due after this time.
func (s *soaking) step(passed time.Duration) error {
	s.changes += passed.Seconds() * s.options.changeRate
	s.renewals += passed.Seconds() * s.options.churnRate
	for ; s.renewals >= 1; s.renewals-- {
		if err := s.reconnect(); err != nil {
			return err
		}
	}
	for ; s.changes >= 1; s.changes-- {
		s.now.LastMs = 0
		if err := s.change(); err != nil {
			return err
		}
	}
	return nil
}

func (s *soaking) print(begin time.Time) error {
	s.now.Seconds = time.Since(begin).Seconds()
	s.now.RSSKB = must(s.options.pid.rss()) / 1024
	return json.NewEncoder(os.Stdout).Encode(s.now)
}

func (s *soaking) run() error {
	begin := time.Now()
	last, nextSample := begin, begin.Add(s.options.sample)
	for time.Since(begin) < s.options.soak {
		time.Sleep(10 * time.Millisecond)
		now := time.Now()
		// A server that cannot keep up is not asked for the rest later.
		passed := min(now.Sub(last), time.Second)
		last = now
		if err := s.step(passed); err != nil {
			return err
		}
		if now.After(nextSample) {
			nextSample = now.Add(s.options.sample)
			if err := s.print(begin); err != nil {
				return err
			}
		}
	}
	return s.print(begin)
}

func soak(o *options, c *crowd, target *udpaChanger) error {
	if o.nStreams < 1 || o.nResources < 1 {
		return errors.New("a soak test needs clients, and resources to change")
	}
	if err := c.connect(o.nStreams); err != nil {
		return err
	}
	if _, err := c.sync(); err != nil {
		return err
	}
	c.settle()
	s := &soaking{options: o, crowd: c, target: target, chance: rand.New(rand.NewSource(1))}
	return s.run()
}
