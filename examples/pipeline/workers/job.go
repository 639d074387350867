package workers

import (
	"context"
	"fmt"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

const (
	urnSource = "beam:runner:source:v1"
	urnSink   = "beam:runner:sink:v1"
)

// job is what Prism sees as one worker.
type job struct {
	ctx     context.Context
	workers int
	address string // of the pool, for the processes
	prism   fnpb.BeamFnControlClient

	sending sync.Mutex // on both streams to Prism
	control fnpb.BeamFnControl_ControlClient
	data    fnpb.BeamFnData_DataClient

	mu          sync.Mutex
	started     int // processes, dead ones included
	processes   map[string]*process
	bundles     map[string]*bundle
	descriptors map[string]*fnpb.ProcessBundleDescriptor
}

// newJob connects to Prism as the worker of the name, and starts the processes.
func newJob(ctx context.Context, worker, endpoint, address string, workers int) (*job, error) {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<31-1), grpc.MaxCallSendMsgSize(1<<31-1)))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	to := grpcx.WriteWorkerID(ctx, worker)
	j := &job{ctx: to, workers: workers, address: address, prism: fnpb.NewBeamFnControlClient(conn),
		processes: map[string]*process{}, bundles: map[string]*bundle{}, descriptors: map[string]*fnpb.ProcessBundleDescriptor{}}
	if j.data, err = fnpb.NewBeamFnDataClient(conn).Data(to); err != nil {
		return nil, err
	}
	if j.control, err = j.prism.Control(to); err != nil {
		return nil, err
	}
	for range workers {
		if _, err := j.begin(); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// begin starts one more process. Its name has no part of an earlier one's.
func (j *job) begin() (*process, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.started++
	p, err := start(j.ctx, fmt.Sprintf("process-%d", j.started), j.address)
	if err == nil {
		j.processes[p.id] = p
	}
	return p, err
}

// idlest returns the process with the fewest pieces, after those that died were replaced.
func (j *job) idlest() (best *process, err error) {
	j.mu.Lock()
	missing := j.workers
	for id, p := range j.processes {
		if !p.alive() {
			delete(j.processes, id)
			continue
		}
		missing--
		if best == nil || p.busy() < best.busy() {
			best = p
		}
	}
	j.mu.Unlock()
	for ; missing > 0; missing-- {
		if best, err = j.begin(); err != nil { // nothing to do yet
			return nil, err
		}
	}
	return best, nil
}

// descriptor returns a stage's descriptor, with the pool in the place of Prism.
func (j *job) descriptor(id string) (*fnpb.ProcessBundleDescriptor, error) {
	j.mu.Lock()
	d := j.descriptors[id]
	j.mu.Unlock()
	if d != nil {
		return d, nil
	}
	d, err := j.prism.GetProcessBundleDescriptor(j.ctx, &fnpb.GetProcessBundleDescriptorRequest{ProcessBundleDescriptorId: id})
	if err != nil {
		return nil, err
	}
	here := &pipepb.ApiServiceDescriptor{Url: j.address}
	d.StateApiServiceDescriptor, d.TimerApiServiceDescriptor = here, nil
	for _, t := range d.GetTransforms() {
		if urn := t.GetSpec().GetUrn(); urn != urnSource && urn != urnSink {
			continue
		}
		port, err := portOf(t)
		if err != nil {
			return nil, err
		}
		port.ApiServiceDescriptor = here
		if t.Spec.Payload, err = proto.Marshal(port); err != nil {
			return nil, err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.descriptors[id] = d
	return d, nil
}

// portOf returns where a source or a sink is connected.
func portOf(t *pipepb.PTransform) (*fnpb.RemoteGrpcPort, error) {
	port := new(fnpb.RemoteGrpcPort)
	return port, proto.Unmarshal(t.GetSpec().GetPayload(), port)
}

// run reads what Prism wants until it ends.
func (j *job) run() {
	go func() {
		for {
			elements, err := j.data.Recv()
			if err != nil {
				return
			}
			j.take(elements)
		}
	}()
	for {
		request, err := j.control.Recv()
		if err != nil {
			return
		}
		response := &fnpb.InstructionResponse{InstructionId: request.GetInstructionId()}
		switch r := request.GetRequest().(type) {
		case *fnpb.InstructionRequest_ProcessBundle:
			j.part(request.GetInstructionId(), func(b *bundle) bool {
				b.descriptor = r.ProcessBundle.GetProcessBundleDescriptorId()
				return true
			})
			continue
		case *fnpb.InstructionRequest_ProcessBundleProgress: // not followed
			response.Response = &fnpb.InstructionResponse_ProcessBundleProgress{ProcessBundleProgress: &fnpb.ProcessBundleProgressResponse{}}
		case *fnpb.InstructionRequest_ProcessBundleSplit: // done already
			response.Response = &fnpb.InstructionResponse_ProcessBundleSplit{ProcessBundleSplit: &fnpb.ProcessBundleSplitResponse{}}
		case *fnpb.InstructionRequest_MonitoringInfos:
			response.Response = &fnpb.InstructionResponse_MonitoringInfos{MonitoringInfos: &fnpb.MonitoringInfosMetadataResponse{}}
		default:
			response.Error = fmt.Sprintf("workers: %T is not supported", r)
		}
		j.answer(response)
	}
}

// take adds input to its bundles.
func (j *job) take(elements *fnpb.Elements) {
	for _, data := range elements.GetData() {
		j.part(data.GetInstructionId(), func(b *bundle) bool {
			b.input = append(b.input, data.GetData()...)
			return data.GetIsLast()
		})
	}
	for _, timer := range elements.GetTimers() {
		j.part(timer.GetInstructionId(), func(b *bundle) bool {
			b.unfit = fmt.Errorf("workers: timers are not supported")
			return false
		})
	}
}

// part adds to a bundle, and has it processed when all of it is there.
func (j *job) part(id string, add func(*bundle) (ends bool)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.bundles[id]
	if b == nil {
		b = &bundle{id: id}
		j.bundles[id] = b
	}
	if !add(b) {
		return
	}
	if b.parts++; b.parts == 2 {
		delete(j.bundles, id)
		go func() {
			output, err := j.process(b)
			j.finish(b, output, err)
		}()
	}
}

// answer and give send to Prism. Where that fails the job is over.
func (j *job) answer(response *fnpb.InstructionResponse) {
	j.sending.Lock()
	defer j.sending.Unlock()
	_ = j.control.Send(response)
}

func (j *job) give(data *fnpb.Elements_Data) {
	j.sending.Lock()
	defer j.sending.Unlock()
	_ = j.data.Send(&fnpb.Elements{Data: []*fnpb.Elements_Data{data}})
}
