package worker

import (
	"time"

	"contend/workers/wire"
)

const (
	freeAgain  = 10 * time.Millisecond
	freeWithin = 2 * time.Second
)

// whenFree opens connections before the measurement, or reads them back after it, and retries what a lock of SQLite prevents
// for 2 s at most. Another process that opens the same database at the same moment may lock it to recover its log, whatever
// the busy timeout.
func whenFree(driver *Driver, open func() error) error {
	for until := time.Now().Add(freeWithin); ; time.Sleep(freeAgain) {
		if err := open(); err == nil || !driver.isLock(err) || time.Now().After(until) {
			return err
		}
	}
}

// isLock reports SQLITE_BUSY and SQLITE_LOCKED, with their extended codes.
func (d *Driver) isLock(err error) bool {
	code, known := d.Code(err)
	primary := code.Number & 0xff
	return known && code.Space == wire.SpaceSQLite && (primary == 5 || primary == 6)
}

// openPool opens a pool before the measurement, and reads back its connections.
func openPool(driver *Driver, plan *wire.Plan, setup *Setup, database wire.Database, facts []wire.Pair) (pool Pool, sessions [][]wire.Pair, err error) {
	err = whenFree(driver, func() error {
		opened, err := driver.OpenPool(database, setup)
		if err != nil {
			return err
		}
		if sessions, err = lookAtAll(driver, plan, setup, opened, facts); err != nil {
			_ = opened.Close()
			return err
		}
		pool = opened
		return nil
	})
	return pool, sessions, err
}
