package worker

import (
	"bufio"
	"io"
	"runtime"

	"contend/workers/wire"
)

// RunPlan prepares a plan and carries it out at once, for benchmarks; the samples of each client.
func RunPlan(driver *Driver, text string) ([][]wire.Sample, error) {
	plan, err := wire.ParsePlan(text)
	if err != nil {
		return nil, err
	}
	r, err := prepare([]*Driver{driver}, plan)
	if err != nil {
		return nil, err
	}
	runtime.GC() // as before `ready`
	if err := r.run(monotonicNS(), &server{out: bufio.NewWriter(io.Discard)}); err != nil {
		return nil, err
	}
	var samples [][]wire.Sample
	for _, c := range r.clients {
		samples = append(samples, c.samples)
	}
	return samples, nil
}
