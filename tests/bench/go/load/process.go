// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// The kernel counts in these for every program, whatever its own clock does.
const tick = 10 * time.Millisecond

// The server, as the kernel sees it.
type process int

func (p process) file(name string) ([]byte, error) {
	return os.ReadFile(fmt.Sprintf("/proc/%d/%s", int(p), name))
}

// Time on processors so far.
func (p process) cpu() (time.Duration, error) {
	data, err := p.file("stat")
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold anything; utime and stime are 12 and 13 fields behind it.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	var user, system int64
	if _, err := fmt.Sscan(string(fields[11])+" "+string(fields[12]), &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * tick, nil
}

// Memory in use, in bytes.
func (p process) rss() (int64, error) {
	data, err := p.file("statm")
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, err
	}
	return resident * int64(os.Getpagesize()), nil
}
