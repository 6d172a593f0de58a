package worker

import (
	"errors"
	"testing"

	"contend/workers/wire"
)

func TestALockAtTheStartIsWaitedForAndNothingElseIs(t *testing.T) {
	locked, other := errors.New("database is locked"), errors.New("no such table")
	driver := &Driver{Code: func(err error) (wire.Code, bool) {
		// SQLITE_BUSY_RECOVERY
		return wire.Code{Space: wire.SpaceSQLite, Number: 261}, errors.Is(err, locked)
	}}
	for _, c := range []struct {
		answers []error
		want    error
	}{{[]error{locked, locked, nil}, nil}, {[]error{locked, other}, other}, {[]error{other}, other}} {
		tried := 0
		err := whenFree(driver, func() error {
			tried++
			return OnSQL("PRAGMA journal_mode", c.answers[tried-1])
		})
		if !errors.Is(err, c.want) || tried != len(c.answers) {
			t.Errorf("%v: %v after %d tries", c.answers, err, tried)
		}
	}
}
