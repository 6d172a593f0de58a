package worker

import (
	"testing"

	"contend/workers/wire"
)

func TestSamplesOutgrowTheirMemoryWithoutBeingCopied(t *testing.T) {
	list := sampleList{last: make([]wire.Sample, 0, 3)}
	const count = 3 + 2*pieceSamples + 1
	var first *wire.Sample
	for i := range uint32(count) {
		*list.next() = wire.Sample{Operation: i}
		if i == 0 {
			first = &list.last[0]
		}
	}
	next := uint32(0)
	for sample := range list.all() {
		if next == 0 && sample != first {
			t.Error("the first sample is somewhere else now")
		}
		if sample.Operation != next {
			t.Fatalf("sample %d is that of operation %d", next, sample.Operation)
		}
		next++
	}
	if next != count || list.len() != count {
		t.Errorf("%d samples told, %d counted, %d added", next, list.len(), count)
	}
}
