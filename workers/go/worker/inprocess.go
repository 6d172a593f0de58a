package worker

import "contend/workers/wire"

// RunPlan prepares a plan and carries it out at once, for benchmarks; the samples of each client.
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
	// Sessions is how many connections told their settings.
	Sessions int
	serving  *serving
}

// ServePlan begins to serve a plan.
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

// Holding is how many HTTP connections have one to the database, for a request or, in the model thread, for good.
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

// Stop ends it; what `done` would say.
func (s *Served) Stop() (string, error) {
	err := s.serving.stop()
	return s.serving.done(), err
}
