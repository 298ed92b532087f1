package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// Addresses of the sandbox's network.
const (
	hostAddress   = "10.88.0.1" // of the services that run beside the pods
	hostNetwork   = "10.88.0.1/24"
	podNetwork    = "10.89.0.0/24"
	serviceRange  = "10.96.0.0/16" // as devcluster sets it up
	dnsAddress    = "10.96.0.10"
	clusterDomain = "cluster.local"
)

// resolvConf is what a process beside the pods reads.
const resolvConf = "nameserver " + dnsAddress + "\nsearch " + namespace + ".svc." + clusterDomain + " svc." + clusterDomain + " " + clusterDomain + "\noptions ndots:5\n"

// setUpNetwork brings the interfaces of the network namespace up. Service addresses are
// local to it, so that whoever listens on one gets what pods send there.
func setUpNetwork(ctx context.Context) error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "host0", "type", "bridge"},
		{"addr", "add", hostNetwork, "dev", "host0"},
		{"link", "set", "host0", "up"},
		{"route", "add", "local", serviceRange, "dev", "lo"},
		{"route", "add", "default", "dev", "host0"}, // to nowhere; the API server wants to see one
	} {
		if _, err := output(ctx, "/", "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

// services plays kube-proxy and cluster DNS: every Service answers at its address while
// it has a ready endpoint, and refuses connections while it has none.
type services struct {
	services  corelisters.ServiceLister
	endpoints discoverylisters.EndpointSliceLister
	changed   chan struct{}

	mu   sync.Mutex
	open map[string]*port // by address
}

// port is a port of a Service that is being served.
type port struct {
	listener net.Listener
	targets  atomic.Pointer[[]string]
	next     atomic.Uint64
}

// startServices follows Services and their endpoints until ctx ends.
func startServices(ctx context.Context, client kubernetes.Interface) (*services, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	s := &services{
		services: factory.Core().V1().Services().Lister(), endpoints: factory.Discovery().V1().EndpointSlices().Lister(),
		changed: make(chan struct{}, 1), open: map[string]*port{},
	}
	notify := func() {
		select {
		case s.changed <- struct{}{}:
		default: // one is due already
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Services().Informer(), factory.Discovery().V1().EndpointSlices().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("follow services: %w", err)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := s.serveDNS(ctx); err != nil {
		return nil, err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.changed:
				s.sync()
			}
		}
	}()
	return s, nil
}

// sync opens, updates and closes ports so that they are those of the Services.
func (s *services) sync() {
	list, err := s.services.List(labels.Everything())
	if err != nil {
		return // a lister of a cache has none
	}
	wanted := map[string][]string{}
	for _, service := range list {
		if net.ParseIP(service.Spec.ClusterIP) == nil {
			continue
		}
		for _, p := range service.Spec.Ports {
			if targets := s.targets(service, p); len(targets) > 0 {
				wanted[net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(p.Port)))] = targets
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, p := range s.open {
		if wanted[address] == nil {
			_ = p.listener.Close()
			delete(s.open, address)
		}
	}
	for address, targets := range wanted {
		p := s.open[address]
		if p == nil {
			listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
			if err != nil {
				say("serve %s: %v", address, err)
				continue
			}
			p = &port{listener: listener}
			p.targets.Store(&targets)
			s.open[address] = p
			go p.serve()
			continue
		}
		p.targets.Store(&targets)
	}
}

// targets are the addresses of the ready endpoints of a Service's port.
func (s *services) targets(service *corev1.Service, p corev1.ServicePort) []string {
	slices, err := s.endpoints.EndpointSlices(service.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}))
	if err != nil {
		return nil
	}
	var found []string
	for _, slice := range slices {
		for _, sp := range slice.Ports {
			if sp.Port == nil || (sp.Name != nil && *sp.Name != p.Name) {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					found = append(found, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*sp.Port))))
				}
			}
		}
	}
	return found
}

func (p *port) serve() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		targets := *p.targets.Load()
		target := targets[p.next.Add(1)%uint64(len(targets))]
		go forward(from, target)
	}
}

// forward carries one connection. Like kube-proxy it tries one endpoint, not the next.
func forward(from net.Conn, target string) {
	to, err := net.Dial("tcp", target)
	if err != nil {
		// A refused connection is a reset to the client, not an empty answer.
		_ = from.(*net.TCPConn).SetLinger(0)
		_ = from.Close()
		return
	}
	half := func(dst, src net.Conn, done chan<- struct{}) {
		_, err := io.Copy(dst, src)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			_ = dst.(*net.TCPConn).SetLinger(0)
			_ = dst.Close()
			_ = src.Close()
		} else {
			_ = dst.(*net.TCPConn).CloseWrite()
		}
		done <- struct{}{}
	}
	done := make(chan struct{}, 2)
	go half(to, from, done)
	go half(from, to, done)
	<-done
	<-done
	_ = from.Close()
	_ = to.Close()
}

// serveDNS answers for <service>.<namespace>.svc.cluster.local with the Service's address.
func (s *services) serveDNS(ctx context.Context) error {
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", net.JoinHostPort(dnsAddress, "53"))
	if err != nil {
		return fmt.Errorf("serve DNS: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer, err := s.answer(buffer[:n]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return nil
}

func (s *services) answer(query []byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(query); err != nil || len(message.Questions) != 1 {
		return nil, errors.Join(err, errors.New("not one question"))
	}
	question := message.Questions[0]
	address, found := s.lookup(question.Name.String())
	message.Header = dnsmessage.Header{ID: message.ID, Response: true, Authoritative: true, RecursionDesired: message.RecursionDesired, RecursionAvailable: true}
	message.Additionals = nil
	switch {
	case !found:
		message.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 5},
			Body:   &dnsmessage.AResource{A: address.As4()},
		}}
	}
	return message.Pack()
}

func (s *services) lookup(name string) (netip.Addr, bool) {
	head, ok := strings.CutSuffix(strings.ToLower(name), ".svc."+clusterDomain+".")
	parts := strings.Split(head, ".")
	if !ok || len(parts) != 2 {
		return netip.Addr{}, false
	}
	service, err := s.services.Services(parts[1]).Get(parts[0])
	if err != nil {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(service.Spec.ClusterIP)
	return address, err == nil && address.Is4()
}
