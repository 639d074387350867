package workers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// Execute runs the pipeline on Prism with so many processes. What they print is not seen; what they
// log as an error is. One pipeline at a time may run: Beam keeps its options in package variables.
func Execute(ctx context.Context, p *beam.Pipeline, processes int) error {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &pool{ctx: ctx, address: listener.Addr().String(), workers: max(processes, 1)}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(1<<31-1), grpc.MaxSendMsgSize(1<<31-1))
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, s)
	fnpb.RegisterBeamFnControlServer(server, s)
	fnpb.RegisterBeamFnDataServer(server, s)
	fnpb.RegisterBeamFnLoggingServer(server, s)
	go server.Serve(listener)
	defer server.Stop()

	// Beam stages a worker's binary, which is here already
	binary, err := os.CreateTemp("", "worker-*")
	if err != nil {
		return err
	}
	defer os.Remove(binary.Name())
	defer binary.Close()
	for option, value := range map[*string]string{
		jobopts.EnvironmentType: "external", jobopts.EnvironmentConfig: s.address, jobopts.WorkerBinary: binary.Name(),
	} {
		before := *option
		*option = value
		defer func() { *option = before }()
	}
	_, err = prism.Execute(ctx, p)
	cancel()
	s.wait()
	return err
}

// pool serves Prism, which wants a worker, and the processes.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	fnpb.UnimplementedBeamFnControlServer
	fnpb.UnimplementedBeamFnDataServer
	fnpb.UnimplementedBeamFnLoggingServer

	ctx     context.Context
	address string
	workers int

	mu   sync.Mutex
	job  *job
	stop context.CancelFunc
}

// StartWorker begins the one job of the pool.
func (s *pool) StartWorker(_ context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != nil {
		return &fnpb.StartWorkerResponse{Error: "workers: one job at a time"}, nil
	}
	ctx, stop := context.WithCancel(s.ctx)
	j, err := newJob(ctx, r.GetWorkerId(), r.GetControlEndpoint().GetUrl(), s.address, s.workers)
	if err != nil {
		stop()
		return &fnpb.StartWorkerResponse{Error: err.Error()}, nil
	}
	s.job, s.stop = j, stop
	go j.run()
	return &fnpb.StartWorkerResponse{}, nil
}

func (s *pool) StopWorker(context.Context, *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
	return &fnpb.StopWorkerResponse{}, nil
}

// wait returns when all processes have ended.
func (s *pool) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job == nil {
		return
	}
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	for _, p := range s.job.processes {
		<-p.dead
	}
}

// caller returns the job and the process that calls.
func (s *pool) caller(ctx context.Context) (*job, *process, error) {
	id, err := grpcx.ReadWorkerID(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	j := s.job
	s.mu.Unlock()
	if j == nil {
		return nil, nil, errors.New("workers: no job")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.processes[id]; p != nil {
		return j, p, nil
	}
	return nil, nil, fmt.Errorf("workers: no process %q", id)
}

// Control is the stream on which a process is told what to do.
func (s *pool) Control(stream fnpb.BeamFnControl_ControlServer) error {
	_, p, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	p.control.connect(stream.Send)
	for {
		answer, err := stream.Recv()
		if err != nil {
			return nil // the end of the process says the same
		}
		p.answered(answer)
	}
}

// Data is the stream of elements in both directions.
func (s *pool) Data(stream fnpb.BeamFnData_DataServer) error {
	_, p, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	p.data.connect(stream.Send)
	for {
		elements, err := stream.Recv()
		if err != nil {
			return nil
		}
		p.gave(elements)
	}
}

// Logging prints what a process wants somebody to see.
func (s *pool) Logging(stream fnpb.BeamFnLogging_LoggingServer) error {
	for {
		list, err := stream.Recv()
		if err != nil {
			return nil
		}
		for _, entry := range list.GetLogEntries() {
			if entry.GetSeverity() >= fnpb.LogEntry_Severity_ERROR {
				fmt.Fprintln(os.Stderr, entry.GetMessage())
			}
		}
	}
}

// GetProcessBundleDescriptor tells a process what a stage is.
func (s *pool) GetProcessBundleDescriptor(ctx context.Context, r *fnpb.GetProcessBundleDescriptorRequest) (*fnpb.ProcessBundleDescriptor, error) {
	j, _, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	return j.descriptor(r.GetProcessBundleDescriptorId())
}
