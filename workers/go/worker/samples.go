package worker

import (
	"iter"

	"contend/workers/wire"
)

// pieceSamples is how many samples a further piece of memory holds: 4 MiB of them.
const pieceSamples = 1 << 16

// sampleList keeps a client's samples in pieces: a slice that outgrows its memory is copied, which stops a client that is fast
// for tenths of a second.
type sampleList struct {
	full [][]wire.Sample
	last []wire.Sample
}

// next is the place of another sample.
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
