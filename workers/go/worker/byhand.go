package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"contend/workers/wire"
)

// byHand carries out a plan from a file, without a tool, and writes its samples to another file.
func byHand(drivers []*Driver, planPath, samplesPath string) error {
	text, err := os.ReadFile(planPath)
	if err != nil {
		return err
	}
	plan, err := wire.ParsePlan(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", planPath, err)
	}
	// Created before the run, which would be useless if the file cannot be written.
	file, err := os.Create(samplesPath)
	if err != nil {
		return err
	}
	r, err := atOnce(drivers, plan)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	operations, failed := r.counts()
	out, attempts := bufio.NewWriterSize(file, frameBytes), 0
	for _, c := range r.clients {
		attempts += c.samples.len()
		for sample := range c.samples.all() {
			if _, err := out.Write(sample.Append(out.AvailableBuffer())); err != nil {
				return errors.Join(err, file.Close())
			}
		}
	}
	fmt.Printf("%d operations, %d attempts, %d failed\n", operations, attempts, failed)
	return errors.Join(out.Flush(), file.Close())
}

// atOnce prepares a plan and carries it out immediately.
func atOnce(drivers []*Driver, plan *wire.Plan) (*ready, error) {
	r, err := prepare(drivers, plan)
	if err != nil {
		return nil, err
	}
	runtime.GC() // as before `ready`
	return r, r.run(monotonicNS(), &server{out: bufio.NewWriter(io.Discard)})
}
