package workers

import (
	"context"
	"errors"
	"fmt"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"golang.org/x/sync/errgroup"
)

// attempts is how often a piece is begun before its bundle fails.
const attempts = 4

// message is about how many bytes of elements are sent at a time.
const message = 1 << 20

// bundle is what Prism wants processed. Its parts come on two streams, in any order.
type bundle struct {
	id         string
	descriptor string
	input      []byte
	parts      int // of the request and the end of the input, how many have come
	unfit      error

	// from the descriptor
	source, coder string
	sinks         int
	coders        coders
}

// describe fills in what the descriptor says.
func (b *bundle) describe(d *fnpb.ProcessBundleDescriptor) error {
	b.coders = d.GetCoders()
	for id, t := range d.GetTransforms() {
		switch t.GetSpec().GetUrn() {
		case urnSource:
			port, err := portOf(t)
			if err != nil {
				return err
			}
			b.source, b.coder = id, port.GetCoderId()
		case urnSink:
			b.sinks++
		}
	}
	if b.source == "" {
		return fmt.Errorf("workers: %s has no input", b.descriptor)
	}
	return nil
}

// process processes a bundle in pieces and returns its output.
func (j *job) process(b *bundle) (output []*fnpb.Elements_Data, err error) {
	if b.unfit != nil {
		return nil, b.unfit
	}
	d, err := j.descriptor(b.descriptor)
	if err != nil {
		return nil, err
	}
	if err := b.describe(d); err != nil {
		return nil, err
	}
	pieces, err := b.coders.cut(b.coder, b.input, j.workers)
	if err != nil {
		return nil, err
	}
	outputs := make([][]*fnpb.Elements_Data, len(pieces))
	group, ctx := errgroup.WithContext(j.ctx)
	for i, piece := range pieces {
		group.Go(func() (err error) {
			messages, err := b.coders.cut(b.coder, piece, len(piece)/message+1)
			if err != nil {
				return err
			}
			outputs[i], err = j.piece(ctx, fmt.Sprintf("%s/%d", b.id, i), b, messages)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, o := range outputs {
		output = append(output, o...)
	}
	return output, nil
}

// piece gives a piece to a process, and to another one if that dies.
func (j *job) piece(ctx context.Context, id string, b *bundle, messages [][]byte) ([]*fnpb.Elements_Data, error) {
	for attempt := range attempts {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p, err := j.idlest()
		if err != nil {
			return nil, err
		}
		output, err := p.process(fmt.Sprintf("%s/%d", id, attempt), b, messages)
		if !errors.Is(err, errDied) {
			return output, err
		}
	}
	return nil, fmt.Errorf("workers: %d processes died in %s", attempts, b.descriptor)
}

// finish gives Prism the output of a bundle, with its own name, and the answer.
func (j *job) finish(b *bundle, output []*fnpb.Elements_Data, err error) {
	response := &fnpb.InstructionResponse{InstructionId: b.id}
	if err != nil {
		response.Error = err.Error()
		j.answer(response)
		return
	}
	for _, data := range output {
		j.give(&fnpb.Elements_Data{InstructionId: b.id, TransformId: data.GetTransformId(), Data: data.GetData()})
	}
	d, _ := j.descriptor(b.descriptor)
	for id, t := range d.GetTransforms() {
		if t.GetSpec().GetUrn() == urnSink {
			j.give(&fnpb.Elements_Data{InstructionId: b.id, TransformId: id, IsLast: true})
		}
	}
	response.Response = &fnpb.InstructionResponse_ProcessBundle{ProcessBundle: &fnpb.ProcessBundleResponse{}}
	j.answer(response)
}
