package worker

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contend/workers/wire"
)

const fiveOperations = `contend-plan 3
worker	0
driver	null	thread
connections	client
window	0	0	1000000000
now	clock
database	file	none
statement	0	rows	-	SELECT 1
transaction	0	read	read	-	0	0	1
step	sql	0	1..1	1	-
retry	1	-	-	-
clients	1
client	7	0	closed	cyclic	5	0	1
op	0	0
end
`

func TestAPlanInAFileIsCarriedOutByHand(t *testing.T) {
	plan, samples := filepath.Join(t.TempDir(), "plan"), filepath.Join(t.TempDir(), "samples")
	if err := os.WriteFile(plan, []byte(wire.Sealed(fiveOperations)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := byHand([]*Driver{Null("null")}, plan, samples); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(samples)
	if err != nil || len(bytes) != 5*wire.SampleBytes {
		t.Fatalf("%d bytes of samples, %v", len(bytes), err)
	}
	for i := range 5 {
		piece := bytes[i*wire.SampleBytes:]
		client, operation := binary.LittleEndian.Uint32(piece), binary.LittleEndian.Uint32(piece[4:])
		if client != 7 || operation != uint32(i) {
			t.Errorf("sample %d is of client %d, operation %d", i, client, operation)
		}
	}
}

func TestAPlanThatIsNotThereIsNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	err := byHand([]*Driver{Null("null")}, missing, filepath.Join(t.TempDir(), "samples"))
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v does not name %s", err, missing)
	}
}
