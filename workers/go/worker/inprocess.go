package worker

import "contend/workers/wire"

// RunPlan prepares a plan and carries it out immediately, for benchmarks; returns the samples of each client.
func RunPlan(driver *Driver, text string) ([][]wire.Sample, error) {
	plan, err := wire.ParsePlan(text)
	if err != nil {
		return nil, err
	}
	r, err := atOnce([]*Driver{driver}, plan)
	if err != nil {
		return nil, err
	}
	var samples [][]wire.Sample
	for _, c := range r.clients {
		var its []wire.Sample
		for sample := range c.samples.all() {
			its = append(its, *sample)
		}
		samples = append(samples, its)
	}
	return samples, nil
}

// Served is a plan served in this process, for tests and benchmarks.
type Served struct {
	URL string
	// Sessions is the number of connections that reported their settings.
	Sessions int
	serving  *serving
}

// ServePlan starts serving a plan.
func ServePlan(driver *Driver, text string) (*Served, error) {
	plan, err := wire.ParsePlan(text)
	if err != nil {
		return nil, err
	}
	s, err := serve([]*Driver{driver}, plan)
	if err != nil {
		return nil, err
	}
	return &Served{URL: s.url(), Sessions: len(s.sessions), serving: s}, nil
}

// Holding is the number of HTTP connections that hold one to the database, for a request or, in the model thread,
// permanently.
func (s *Served) Holding() (count int) {
	s.serving.handler.lock.Lock()
	defer s.serving.handler.lock.Unlock()
	for _, p := range s.serving.handler.peers {
		if p.holds() {
			count++
		}
	}
	return count
}

// Stop ends it; returns what `done` would report.
func (s *Served) Stop() (string, error) {
	err := s.serving.stop()
	return s.serving.done(), err
}
