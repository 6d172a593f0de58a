package worker

import (
	"iter"

	"contend/workers/wire"
)

// pieceSamples is the number of samples in a further piece of memory: 4 MiB.
const pieceSamples = 1 << 16

// sampleList stores a client's samples in pieces: a slice that outgrows its memory is copied, which would stop a fast
// client for tenths of a second.
type sampleList struct {
	full [][]wire.Sample
	last []wire.Sample
}

// next returns the place of the next sample.
func (l *sampleList) next() *wire.Sample {
	n := len(l.last)
	if n == cap(l.last) {
		l.full = append(l.full, l.last)
		l.last, n = make([]wire.Sample, 0, pieceSamples), 0
	}
	l.last = l.last[:n+1]
	return &l.last[n]
}

func (l *sampleList) len() int {
	n := len(l.last)
	for _, piece := range l.full {
		n += len(piece)
	}
	return n
}

func (l *sampleList) all() iter.Seq[*wire.Sample] {
	return func(yield func(*wire.Sample) bool) {
		for _, piece := range append(l.full[:len(l.full):len(l.full)], l.last) {
			for i := range piece {
				if !yield(&piece[i]) {
					return
				}
			}
		}
	}
}
