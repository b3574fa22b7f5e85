// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
)

// The server, as the kernel sees it.
type process int

// Memory in use, in bytes.
func (p process) rss() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", int(p)))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, err
	}
	return resident * int64(os.Getpagesize()), nil
}
