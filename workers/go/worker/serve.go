package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/workers/wire"
)

const frameBytes = 1 << 20

// request is a line of the tool, with the bytes that it announces.
type request struct {
	word  string
	start uint64
	bytes string
}

// server is one side of the handshake.
type server struct {
	drivers  []*Driver
	out      *bufio.Writer
	requests chan request
	ready    *ready
	// Serve mode: plans are served over HTTP.
	serves  bool
	serving *serving
}

const usage = `usage: %s [serve | --plan FILE --samples FILE]

A worker of contend: it reads requests from standard input and answers on standard output (docs/formats.md of
the project). With "serve" it answers HTTP requests for the transactions of a plan in place of carrying it out. With
--plan it carries out the plan in a file, at once, and writes its samples to another.
`

// Main answers the tool on standard input and output until it sends `quit` or closes the pipe.
func Main(drivers ...*Driver) {
	s := &server{drivers: drivers, out: bufio.NewWriterSize(os.Stdout, 1<<16), requests: make(chan request)}
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "serve":
		s.serves = true
	case len(args) == 4 && args[0] == "--plan" && args[2] == "--samples":
		if err := byHand(drivers, args[1], args[3]); err != nil {
			fmt.Fprintf(os.Stderr, "contend worker: %v\n", err)
			os.Exit(1)
		}
		return
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		fmt.Printf(usage, os.Args[0])
		return
	case len(args) > 0:
		fmt.Fprintf(os.Stderr, usage, os.Args[0])
		os.Exit(2)
	}
	if err := s.serve(); err != nil {
		fmt.Fprintf(os.Stderr, "contend worker: %v\n", err)
		os.Exit(1)
	}
}

func (s *server) say(line string) {
	s.out.WriteString(line)
	s.out.WriteByte('\n')
	if s.out.Flush() != nil {
		os.Exit(1) // the tool is gone
	}
}

func (s *server) failed(err error) { s.say("failed\t" + wire.Escape(err.Error())) }

func (s *server) sayBytes(word string, bytes []byte) {
	fmt.Fprintf(s.out, "%s %d\n", word, len(bytes))
	s.out.Write(bytes)
	if s.out.Flush() != nil {
		os.Exit(1)
	}
}

// read passes requests on until the input ends, then ends the process.
func (s *server) read(input *bufio.Reader) {
	for {
		line, err := input.ReadString('\n')
		if err == io.EOF {
			s.inputEnded()
		}
		line = strings.TrimSuffix(line, "\n")
		q := request{word: line}
		if word, number, ok := strings.Cut(line, " "); ok && (word == "plan" || word == "script") {
			length, bad := strconv.Atoi(number)
			if bad == nil {
				bytes := make([]byte, length)
				_, err = io.ReadFull(input, bytes)
				q = request{word: word, bytes: string(bytes)}
			}
		} else if word, number, ok := strings.Cut(line, "\t"); ok && word == "start" {
			if start, bad := strconv.ParseUint(number, 10, 64); bad == nil {
				q = request{word: word, start: start}
			}
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "contend worker: cannot read requests: %v\n", err)
			os.Exit(1)
		}
		s.requests <- q
	}
}

// inputEnded exits: the tool is gone. A server closes its databases first if that is quick.
func (s *server) inputEnded() {
	if s.serves {
		select {
		case s.requests <- request{word: "quit"}:
			time.Sleep(2 * leaveWithin)
		case <-time.After(leaveWithin):
		}
	}
	os.Exit(0)
}

func (s *server) serve() error {
	hello, err := s.hello()
	if err != nil {
		return err
	}
	s.say("hello" + facts(hello))
	go s.read(bufio.NewReaderSize(os.Stdin, 1<<16))
	for q := range s.requests {
		switch q.word {
		case "quit":
			if s.serving != nil {
				_ = s.serving.close(leaveWithin)
			}
			return nil
		case "clock":
			s.clock()
		case "plan":
			if s.serves {
				s.servePlan(q.bytes)
			} else {
				s.plan(q.bytes)
			}
		case "script":
			if reply, err := carryOut(s.drivers, q.bytes); err != nil {
				s.failed(err)
			} else {
				s.sayBytes("reply", reply)
			}
		case "start":
			if s.ready == nil {
				s.failed(errors.New("`start` without a plan that is ready"))
			} else if err := s.run(q.start); err != nil {
				// A client that did not return may still hold its database, so the process exits.
				s.failed(err)
				return err
			}
		case "stop": // otherwise the window is over already; the tool could not know
			if err := s.stopServing(); err != nil {
				s.failed(err)
				return err
			}
		default:
			s.failed(fmt.Errorf("`%s` is not a line of the tool", q.word))
		}
	}
	return nil
}

func (s *server) clock() { s.say(fmt.Sprintf("clock\t%d", monotonicNS())) }

// during answers the tool while a plan runs.
func (s *server) during(r *ready, q request) error {
	switch q.word {
	case "stop":
		r.control.stop(monotonicNS())
	case "clock":
		s.clock()
	case "quit":
		return errors.New("asked to quit during the run")
	default:
		fmt.Fprintf(os.Stderr, "contend worker: ignored during a run: %s\n", q.word)
	}
	return nil
}

// plan prepares a plan; one that was prepared and never started is abandoned first.
func (s *server) plan(text string) {
	if s.ready != nil {
		s.ready.abandon()
		s.ready = nil
	}
	plan, err := wire.ParsePlan(text)
	if err == nil {
		s.ready, err = prepare(s.drivers, plan)
	}
	if err != nil {
		s.failed(err)
		return
	}
	for _, session := range s.ready.sessions {
		s.say("session" + facts(session))
	}
	// Garbage of the preparation must not be collected in the window.
	runtime.GC()
	s.say("ready")
}

// servePlan starts serving a plan instead of the previous one.
func (s *server) servePlan(text string) {
	if s.serving != nil {
		_ = s.serving.close(leaveWithin)
		s.serving = nil
	}
	plan, err := wire.ParsePlan(text)
	if err == nil {
		s.serving, err = serve(s.drivers, plan)
	}
	if err != nil {
		s.failed(err)
		return
	}
	for _, session := range s.serving.sessions {
		s.say("session" + facts(session))
	}
	runtime.GC()
	s.say("serving\t" + s.serving.url())
}

func (s *server) stopServing() error {
	stopped := s.serving
	s.serving = nil
	if stopped == nil {
		return nil
	}
	err := stopped.stop()
	if err == nil {
		s.say(stopped.done())
	}
	return err
}

func (s *server) run(start uint64) error {
	r := s.ready
	s.ready = nil
	if err := r.run(start, s); err != nil {
		return err
	}
	operations, failed := r.counts()
	attempts, exhausted := 0, 0
	for _, c := range r.clients {
		attempts += c.samples.len()
		if c.exhausted {
			exhausted++
		}
	}
	s.say(fmt.Sprintf("done\toperations=%d\tattempts=%d\tfailed=%d\texhausted=%d\tconnections_opened=%d",
		operations, attempts, failed, exhausted, r.openedInRun) + r.reads.facts() + r.pauses.facts())
	frame := make([]byte, 0, frameBytes)
	for _, c := range r.clients {
		for sample := range c.samples.all() {
			frame = sample.Append(frame)
			if len(frame) == frameBytes {
				s.sayBytes("samples", frame)
				frame = frame[:0]
			}
		}
	}
	if len(frame) > 0 {
		s.sayBytes("samples", frame)
	}
	s.say("end")
	return nil
}

func facts(pairs []wire.Pair) string {
	var line strings.Builder
	for _, pair := range pairs {
		fmt.Fprintf(&line, "\t%s=%s", wire.Escape(pair.Name), wire.Escape(pair.Text))
	}
	return line.String()
}

// hello returns the facts about the worker. A worker with several drivers reports those of each.
func (s *server) hello() ([]wire.Pair, error) {
	var names, modules, engines []string
	options, lockWait := "", "measured"
	var defaults []wire.Pair
	for _, d := range s.drivers {
		version, compiled, err := d.facts()
		if err == nil {
			defaults, err = d.defaults()
		}
		if err != nil {
			return nil, fmt.Errorf("driver %s: %w", d.Name, err)
		}
		names = append(names, d.Name)
		modules = addOnce(modules, strings.TrimSpace(d.Module+" "+moduleVersion(d.Module)))
		engines = addOnce(engines, strings.TrimSpace(d.Engine+" "+version))
		options = compiled
		if !d.LockWait {
			lockWait = "off"
		}
	}
	return append([]wire.Pair{
		{Name: "protocol", Text: "1"},
		{Name: "language", Text: runtime.Version()},
		{Name: "driver", Text: strings.Join(modules, ", ")},
		{Name: "engine", Text: strings.Join(engines, ", ")},
		{Name: "lock_wait", Text: lockWait},
		{Name: "drivers", Text: strings.Join(names, ",")},
		{Name: "models", Text: modelThread + "," + modelPool},
		{Name: "compile_options", Text: options},
	}, defaults...), nil
}

func addOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

func moduleVersion(module string) string {
	if !strings.Contains(module, "/") {
		return "" // of the worker itself
	}
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return "of an unknown version"
}

// facts queries the engine for its version and compile options. A server is queried when a plan names it.
func (d *Driver) facts() (version, options string, err error) {
	switch {
	case d.Nothing:
		return "", "", nil
	case d.Scratch == "":
		return "(a server)", "", nil
	}
	conn, err := d.Open(wire.File(d.Scratch), &Setup{Options: &Options{BusyTimeoutMS: -1}})
	if err != nil {
		return "", "", err
	}
	defer conn.Close()
	if version, err = d.firstValue(conn, "SELECT sqlite_version()"); err != nil {
		return "", "", err
	}
	var all []string
	_, err = conn.Run(query("PRAGMA compile_options"), nil, func(values []any) error {
		all = append(all, inWords(values[0]))
		return nil
	})
	return version, strings.Join(all, ","), err
}
