package worker

import "contend/workers/wire"

// defaults are a connection's defaults, observed on one with no settings: whether writes are committed at once, and
// how many statements it keeps.
func (d *Driver) defaults() (found []wire.Pair, err error) {
	if d.Scratch != "" && !d.Nothing {
		autocommit, err := d.autocommit()
		if err != nil {
			return nil, err
		}
		found = append(found, wire.Pair{Name: "autocommit", Text: autocommit})
	}
	if d.StatementCache != nil {
		kept, err := d.StatementCache()
		if err != nil {
			return nil, err
		}
		found = append(found, wire.Pair{Name: "statement_cache", Text: kept})
	}
	return found, nil
}

// autocommit: a transaction can begin after a write only if the write has been committed.
func (d *Driver) autocommit() (string, error) {
	conn, err := d.Open(wire.File(d.Scratch), &Setup{Options: &Options{BusyTimeoutMS: -1}})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	for _, sql := range []string{"CREATE TABLE probe (value)", "INSERT INTO probe VALUES (1)"} {
		if _, err := conn.Run(simple(sql), nil, nil); err != nil {
			return "", OnSQL(sql, err)
		}
	}
	if _, err := conn.Run(simple("BEGIN"), nil, nil); err != nil {
		return "off", nil
	}
	return "on", nil
}
