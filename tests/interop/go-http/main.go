// SPDX-License-Identifier: Apache-2.0

// A client of net/http for the REST of a node, by HTTP/2, with and without TLS. It prints what it
// does line by line, and ends with status 1 at the first thing that is not as it should be.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var (
	url         = flag.String("url", "", "of the resources of UDPA")
	typeURL     = flag.String("type", "", "of the resources")
	authority   = flag.String("ca", "", "file of the authority; none: without TLS")
	certificate = flag.String("cert", "", "file of the client's certificate")
	key         = flag.String("key", "", "file of its key")
	nPolls      = flag.Int("polls", 100, "how many at a time")
	isShort     = flag.Bool("short", false, "no requests that are given up, and no change")
)

type client struct {
	http         *http.Client
	nConnections atomic.Int32
}

type answer struct {
	status  int
	version string
	text    []byte
}

func fail(format string, arguments ...any) {
	fmt.Printf("failed: "+format+"\n", arguments...)
	os.Exit(1)
}

func newClient() *client {
	transport := &http.Transport{MaxConnsPerHost: 1}
	protocols := new(http.Protocols)
	if *authority == "" {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP1(true) // ALPN chooses
		protocols.SetHTTP2(true)
		transport.TLSClientConfig = config()
	}
	transport.Protocols = protocols
	return &client{http: &http.Client{Transport: transport}}
}

func config() *tls.Config {
	text, err := os.ReadFile(*authority)
	if err != nil {
		fail("%v", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		fail("%v", err)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, ServerName: "localhost"}
}

func (c *client) post(ctx context.Context, version, prefer string, wrap func(io.Reader) io.Reader,
	written func()) (answer, error) {
	body, _ := json.Marshal(map[string]string{"type_url": *typeURL, "version": version})
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				c.nConnections.Add(1)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if written != nil {
				written()
			}
		},
	})
	var reader io.Reader = bytes.NewReader(body)
	if wrap != nil {
		reader = wrap(reader)
	}
	request, err := http.NewRequestWithContext(ctx, "POST", *url, reader)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("content-type", "application/json")
	if prefer != "" {
		request.Header.Set("prefer", prefer)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.ProtoMajor != 2 {
		return answer{}, fmt.Errorf("it speaks %s", response.Proto)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	got := answer{status: response.StatusCode, text: text}
	var parsed struct{ Version string }
	if len(text) > 0 {
		err = json.Unmarshal(text, &parsed)
	}
	got.version = parsed.Version
	return got, err
}

func (c *client) must(status int, version, prefer string, wrap func(io.Reader) io.Reader,
	written func()) answer {
	got, err := c.post(context.Background(), version, prefer, wrap, written)
	if err != nil || got.status != status {
		fail("%d instead of %d: %v %s", got.status, status, err, got.text)
	}
	return got
}

// Runs it so many times side by side.
func together(run func()) {
	var all sync.WaitGroup
	for range *nPolls {
		all.Go(run)
	}
	all.Wait()
}

// A reader of which nobody knows the length.
func unknownLength(reader io.Reader) io.Reader {
	return io.MultiReader(reader)
}

func (c *client) checkConnections() {
	if n := c.nConnections.Load(); n != 1 {
		fail("there were %d connections", n)
	}
	fmt.Println("all on one connection")
}

func main() {
	flag.Parse()
	c := newClient()
	first := c.must(200, "", "", nil, nil)
	fmt.Println("answered by HTTP/2")
	if again := c.must(200, "", "", unknownLength, nil); again.version != first.version {
		fail("version %s, then %s", first.version, again.version)
	}
	fmt.Println("a body of unknown length is taken")
	together(func() { c.must(304, first.version, "wait=1", nil, nil) })
	fmt.Println("nothing has changed, all are told")
	together(func() { c.must(200, "", "", nil, nil) })
	fmt.Println("all at once are answered")
	if *isShort {
		c.checkConnections()
		return
	}

	for i := range 3 * *nPolls / 2 { // half of them are waited for, so it is no abuse
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		if _, err := c.post(ctx, first.version, "", nil, cancel); err == nil {
			fail("request %d was answered", i)
		}
		cancel()
		c.must(200, "", "", nil, nil)
		c.must(200, "", "", nil, nil)
	}
	fmt.Println("requests that are given up leave the others alone")

	var nWritten atomic.Int32
	together(func() {
		changed := c.must(200, first.version, "", nil, func() {
			if int(nWritten.Add(1)) == *nPolls {
				fmt.Println("all were sent")
			}
		})
		if changed.version == first.version {
			fail("version %s again", first.version)
		}
	})
	fmt.Println("a change was told to all")
	c.checkConnections()
}
