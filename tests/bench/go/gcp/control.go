// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
)

// What whoever measures sends: resource Index carries Serial from now on. Big endian.
type record struct {
	Index  uint32
	Serial uint64
}

// Connections one after the other, and changes one by one: each is an update of its own.
func takeChanges(listener net.Listener, target changer, n int) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		if err := follow(connection, target, n); !errors.Is(err, io.EOF) {
			log.Printf("control: %v: closed", err)
		}
		connection.Close()
	}
}

func follow(connection net.Conn, target changer, n int) error {
	buffered := bufio.NewReader(connection)
	for {
		var change record
		if err := binary.Read(buffered, binary.BigEndian, &change); err != nil {
			return err
		}
		if int(change.Index) >= n {
			return errors.New("a change of a resource that is not there")
		}
		if err := target.change(int(change.Index), change.Serial); err != nil {
			return err
		}
	}
}
