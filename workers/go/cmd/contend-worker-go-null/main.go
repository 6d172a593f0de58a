// Command contend-worker-go-null is the worker that executes nothing: it measures the overhead of the Go workers.
package main

import "contend/workers/worker"

func main() { worker.Main(worker.Null("null"), worker.Null("go-null")) }
