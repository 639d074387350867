package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
)

// errDied is the error of a piece whose process has ended.
var errDied = errors.New("the process died")

// process is one of the workers.
type process struct {
	id   string
	cmd  *exec.Cmd
	dead chan struct{} // closed when it has ended

	mu      sync.Mutex
	calls   map[string]*call // by instruction
	control stream[*fnpb.InstructionRequest]
	data    stream[*fnpb.Elements]
}

// stream is a stream to a process, from when it connects. One goroutine at a time may send.
type stream[M any] struct {
	mu    sync.Mutex
	to    func(M) error
	once  sync.Once
	there chan struct{}
}

// connect is called when the process has opened the stream, or opened it again.
func (s *stream[M]) connect(to func(M) error) {
	s.mu.Lock()
	s.to = to
	s.mu.Unlock()
	s.once.Do(func() { close(s.there) })
}

// send waits for the stream. A process that cannot be reached counts as dead, or will be soon.
func (s *stream[M]) send(p *process, message M) error {
	select {
	case <-s.there:
	case <-p.dead:
		return errDied
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.to(message); err != nil {
		<-p.dead
		return errDied
	}
	return nil
}

// call is a piece of a bundle that a process works on.
type call struct {
	sinks  int // that are not finished
	output []*fnpb.Elements_Data
	answer *fnpb.InstructionResponse
	done   chan struct{}
}

// check ends the call when both streams have said that it is finished, or the answer is an error.
func (c *call) check() {
	if c.answer != nil && (c.sinks <= 0 || c.answer.GetError() != "") {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
}

// child is set in the environment of a process that is a worker.
const child = "DPSKETCH_PIPELINE_WORKER"

// A worker ends with the process that began it, however that ends: its standard input does.
func init() {
	if os.Getenv(child) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
}

// start starts a process of the running program as a worker of the server at the address.
func start(ctx context.Context, id, address string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{id: id, dead: make(chan struct{}), calls: map[string]*call{}}
	p.control.there, p.data.there = make(chan struct{}), make(chan struct{})
	p.cmd = exec.CommandContext(ctx, self, "--worker=true", "--id="+id, "--logging_endpoint="+address, "--control_endpoint="+address)
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(os.Environ(), child+"=1")
	if _, err := p.cmd.StdinPipe(); err != nil { // open as long as this process is there
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // however it ended, it has
		close(p.dead)
	}()
	return p, nil
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	select {
	case <-p.dead:
		return false
	default:
		return true
	}
}

// busy returns the number of pieces that the process works on.
func (p *process) busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

// process has a piece processed and returns its output: all of it, or an error.
func (p *process) process(instruction string, b *bundle, piece [][]byte) ([]*fnpb.Elements_Data, error) {
	c := &call{sinks: b.sinks, done: make(chan struct{})}
	p.mu.Lock()
	p.calls[instruction] = c
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.calls, instruction)
		p.mu.Unlock()
	}()
	err := p.control.send(p, &fnpb.InstructionRequest{InstructionId: instruction, Request: &fnpb.InstructionRequest_ProcessBundle{
		ProcessBundle: &fnpb.ProcessBundleRequest{ProcessBundleDescriptorId: b.descriptor}}})
	if err != nil {
		return nil, err
	}
	for i := range len(piece) + 1 {
		data := &fnpb.Elements_Data{InstructionId: instruction, TransformId: b.source, IsLast: i == len(piece)}
		if i < len(piece) {
			data.Data = piece[i]
		}
		select {
		case <-c.done: // with an error, before it has read all
		default:
			if err := p.data.send(p, &fnpb.Elements{Data: []*fnpb.Elements_Data{data}}); err != nil {
				return nil, err
			}
		}
	}
	select {
	case <-c.done:
	case <-p.dead:
		return nil, errDied
	}
	answer := c.answer.GetProcessBundle()
	switch {
	case c.answer.GetError() != "":
		return nil, errors.New(c.answer.GetError())
	case len(answer.GetResidualRoots()) > 0 || answer.GetRequiresFinalization():
		return nil, fmt.Errorf("workers: %s checkpoints or is to be finalized: not supported", b.descriptor)
	}
	return c.output, nil
}

// answered takes what the process says on its control stream.
func (p *process) answered(answer *fnpb.InstructionResponse) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.calls[answer.GetInstructionId()]; c != nil {
		c.answer = answer
		c.check()
	}
}

// gave takes what the process puts out.
func (p *process) gave(elements *fnpb.Elements) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, data := range elements.GetData() {
		c := p.calls[data.GetInstructionId()]
		if c == nil {
			continue
		}
		if len(data.GetData()) > 0 {
			c.output = append(c.output, data)
		}
		if data.GetIsLast() {
			c.sinks--
		}
		c.check()
	}
}
