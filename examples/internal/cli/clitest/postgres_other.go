//go:build !unix

package clitest

import "syscall"

// otherUser returns how to run as the user of this process.
func otherUser(string) (*syscall.SysProcAttr, error) { return nil, nil }
