// Package openstack reaches OpenStack for the controllers: the asker answers the questions
// of decisions, and Execute makes their calls. Which questions and calls there are is
// decided under render/.
package openstack

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/render/openstack"
)

// silence is how long a service that did not answer in time is left alone by everybody.
const silence = 30 * time.Second

// Asker answers questions outside of the workers. A pass takes the newest answer; it never
// waits for one. Whoever asks about one Nova shares its answers.
type Asker struct {
	now  func() time.Time
	wake func(types.NamespacedName)

	// life ends with Start; every request ends with it.
	life context.Context //nolint:containedctx // the requests outlive the pass that asks
	end  context.CancelFunc

	mu     sync.Mutex
	asked  map[types.NamespacedName]*service
	asking sync.WaitGroup
}

// service is what is known of the OpenStack of one Nova.
type service struct {
	uid types.UID
	// silent is until when it is left alone, after a time-out.
	silent  time.Time
	answers map[openstack.Request]*answer
}

// answer is the state of one question.
type answer struct {
	openstack.Answer
	// at is when the answer came; zero while there is none.
	at time.Time
	// told is true when a pass has taken this very answer.
	told bool
	// running is true while it is asked.
	running bool
}

// NewAsker returns an asker. wake is called, with the name under which was asked, when an
// answer comes that nobody took yet and that differs from the last one. now is the clock.
func NewAsker(now func() time.Time, wake func(types.NamespacedName)) *Asker {
	life, end := context.WithCancel(context.Background())
	return &Asker{now: now, wake: wake, life: life, end: end, asked: map[types.NamespacedName]*service{}}
}

// Start waits for the end of the context and then ends every request. It is a
// manager.Runnable.
func (a *Asker) Start(ctx context.Context) error {
	<-ctx.Done()
	a.end()
	a.asking.Wait()
	return nil
}

// Newest returns the newest answer to a question about one Nova, and false while there is
// none. An answer that is missing or older than the question allows is asked for in the
// background, through web. uid tells one incarnation from the next.
func (a *Asker) Newest(name types.NamespacedName, uid types.UID, web *http.Client, q openstack.Question) (openstack.Answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.asked[name]
	if s == nil || s.uid != uid {
		s = &service{uid: uid, answers: map[openstack.Request]*answer{}}
		a.asked[name] = s
	}
	got := s.answers[q.Request]
	if got == nil {
		got = &answer{}
		s.answers[q.Request] = got
	}
	now := a.now()
	stale := got.at.IsZero() || now.Sub(got.at) >= q.MaxAge
	if stale && !got.running && !now.Before(s.silent) {
		got.running = true
		a.asking.Go(func() { a.ask(name, s, got, web, q) })
	}
	if got.at.IsZero() {
		return openstack.Answer{}, false
	}
	got.told = true
	return got.Answer, true
}

// Forget drops what is known about a Nova that is gone.
func (a *Asker) Forget(name types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, name)
}

// ask makes one request and keeps the answer.
func (a *Asker) ask(name types.NamespacedName, s *service, at *answer, web *http.Client, q openstack.Question) {
	ctx, cancel := context.WithTimeout(a.life, q.Timeout)
	defer cancel()
	got := send(ctx, web, q.Request)
	if a.keep(s, at, got) {
		a.wake(name)
	}
}

// keep stores an answer and reports whether somebody must hear of it.
func (a *Asker) keep(s *service, at *answer, got openstack.Answer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	news := !at.told || at.Answer != got
	at.Answer, at.at, at.told, at.running = got, a.now(), at.told && !news, false
	if got.Class == openstack.ClassTimeout {
		s.silent = a.now().Add(silence)
	}
	return news && a.life.Err() == nil // after the end nobody is left to hear
}
