package main

import (
	"testing"

	"contend/workers/served"
)

func TestServe(t *testing.T) { served.Check(t, library()) }
