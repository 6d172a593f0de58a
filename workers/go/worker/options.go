package worker

import (
	"fmt"
	"strconv"

	"contend/workers/wire"
)

// Options are options of driver and model that are not SQL.
type Options struct {
	BusyTimeoutMS int // -1: what driver and session statements set
	PrepareEach   bool
	LockWait      bool
	ForeignKeys   string // on, off, or empty: left to driver and session statements
	PoolSize      int
	PoolIdle      int
	PoolLazy      bool
	Secret        string // what every request to a server must bring; empty: nothing
	named         map[string]bool
}

const (
	poolSize = 4 // unless named
	poolMost = 10_000
)

// parseOptions parses the options of a plan or script; an unknown one is an error.
func parseOptions(driver *Driver, pairs []wire.Pair) (*Options, error) {
	o := &Options{BusyTimeoutMS: -1, LockWait: driver.LockWait, PoolSize: poolSize, PoolIdle: -1, named: map[string]bool{}}
	for _, pair := range pairs {
		if err := o.set(driver, pair.Name, pair.Text); err != nil {
			return nil, err
		}
		o.named[pair.Name] = true
	}
	if o.PoolIdle < 0 {
		o.PoolIdle = o.PoolSize
	}
	return o, nil
}

func (o *Options) set(driver *Driver, name, value string) error {
	oneOf := func(words ...string) (bool, error) {
		for i, word := range words {
			if value == word {
				return i == 0, nil
			}
		}
		return false, fmt.Errorf("option %s: `%s` is not one of its values (%q)", name, value, words)
	}
	number := func(low, high int) (int, error) {
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || int(n) < low || int(n) > high {
			return 0, fmt.Errorf("option %s: `%s` is not a number from %d to %d", name, value, low, high)
		}
		return int(n), nil
	}
	var err error
	if driver.Server && (name == "busy_timeout_ms" || name == "foreign_keys") {
		return fmt.Errorf("option %s: it is SQLite's, and driver %s connects to a server", name, driver.Name)
	}
	switch name {
	case "busy_timeout_ms":
		o.BusyTimeoutMS, err = number(0, 1<<31-1)
	case "statements":
		o.PrepareEach, err = oneOf("each", "prepared")
	case "foreign_keys":
		_, err = oneOf("on", "off")
		o.ForeignKeys = value
	case "lock_wait":
		if o.LockWait, err = oneOf("measured", "off"); o.LockWait && !driver.LockWait {
			err = fmt.Errorf("option lock_wait: driver %s cannot measure what it waits for locks", driver.Name)
		}
	case "secret":
		o.Secret = value
	case "pool_size":
		o.PoolSize, err = number(1, poolMost)
	case "pool_idle":
		o.PoolIdle, err = number(0, poolMost)
	case "pool_open":
		o.PoolLazy, err = oneOf("lazy", "advance")
	default:
		err = fmt.Errorf("option %s: this worker has no such option", name)
	}
	return err
}

// checkModel rejects options that do not apply to the model or the driver.
func (o *Options) checkModel(driver *Driver, model string) error {
	for _, name := range []string{"pool_size", "pool_idle", "pool_open"} {
		if model != "pool" && o.named[name] {
			return fmt.Errorf("option %s: model %s has no pool", name, model)
		}
	}
	if model == "pool" && driver.PoolFixed && (o.PoolLazy || o.PoolIdle != o.PoolSize) {
		return fmt.Errorf("option pool_open or pool_idle: the pool of %s opens all connections in advance and keeps them", driver.Name)
	}
	if model == "pool" && driver.PoolKeeps && o.PoolIdle != o.PoolSize {
		return fmt.Errorf("option pool_idle: the pool of %s closes no connection because others are idle", driver.Name)
	}
	return nil
}

// poolFacts are the pool options of the plan, with the values in effect.
func (o *Options) poolFacts() (facts []wire.Pair) {
	open := "advance"
	if o.PoolLazy {
		open = "lazy"
	}
	for _, fact := range []wire.Pair{
		{Name: "pool_size", Text: strconv.Itoa(o.PoolSize)},
		{Name: "pool_idle", Text: strconv.Itoa(o.PoolIdle)},
		{Name: "pool_open", Text: open},
	} {
		if o.named[fact.Name] {
			facts = append(facts, fact)
		}
	}
	return facts
}
