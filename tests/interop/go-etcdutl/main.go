// SPDX-License-Identifier: Apache-2.0

// What a current etcdutl does with snapshots: restore, status.
package main

import (
	"os"

	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
)

func main() {
	command := etcdutl.NewSnapshotCommand()
	command.SilenceUsage = true
	if command.Execute() != nil {
		os.Exit(1)
	}
}
