package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// load is a cloud in use: calls of the API by the beat, and servers that come and go.
type load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	calls   int
	failed  map[string]int
	longest time.Duration
	boots   int
	unbuilt map[string]int
}

// startLoad begins with a token that outlives it.
func (r *rig) startLoad(ctx context.Context) (*load, error) {
	admin, err := r.admin(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel, failed: map[string]int{}, unbuilt: map[string]int{}}
	l.done.Go(func() {
		beat := time.NewTicker(200 * time.Millisecond)
		defer beat.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				l.call(ctx, admin, []string{"/servers", "/os-services", "/flavors"}[i%3])
			}
		}
	})
	l.done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			l.server(ctx, admin, fmt.Sprintf("load-%d", i))
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return l, nil
}

func (l *load) call(ctx context.Context, c *cloud, path string) {
	start := time.Now()
	err := c.compute(ctx, http.MethodGet, path, nil, nil)
	if ctx.Err() != nil {
		return // ours was the end
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.longest = max(l.longest, time.Since(start))
	if err != nil {
		l.failed[cause(err)]++
	}
}

// server boots one and deletes it.
func (l *load) server(ctx context.Context, c *cloud, name string) {
	limited, cancel := within(ctx, 2*time.Minute)
	defer cancel()
	s, err := c.boot(limited, name)
	if err == nil {
		err = c.compute(limited, http.MethodDelete, "/servers/"+s.ID, nil, nil)
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.boots++
	if err != nil {
		l.unbuilt[cause(err)]++
	}
}

// cause is an error without what differs from one call to the next.
func cause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 && !strings.Contains(text, "{") {
		text = text[i+2:]
	}
	return tail([]byte(text), 1)
}

// stop ends the load and says how it went.
func (l *load) stop() (note string, failures int) {
	l.cancel()
	l.done.Wait()
	for _, kinds := range []map[string]int{l.failed, l.unbuilt} {
		for _, count := range kinds {
			failures += count
		}
	}
	note = fmt.Sprintf("%d calls, %d failed, the longest took %.1f s; %d servers, %d failed",
		l.calls, sum(l.failed), l.longest.Seconds(), l.boots, sum(l.unbuilt))
	for _, kinds := range []map[string]int{l.failed, l.unbuilt} {
		for _, text := range slices.Sorted(maps.Keys(kinds)) {
			say("    %d × %s", kinds[text], text)
		}
	}
	return note, failures
}

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}
