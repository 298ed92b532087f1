// Package preview says what a change will do: a document made from a forecast, and its
// printed forms.
//
// Input: what the passes over a resource will do (foresee.Forecast), and every object
// before and after, as an API server answered or as two renders give them. Output: a
// Document and text, byte-equal for equal input and key. It asks nobody, and no value of
// a Secret, nor anything from which one could be guessed, is in what it returns.
package preview

// APIVersion and Kind head the JSON form. A field is never removed or given another
// meaning within a version.
const (
	APIVersion = "preview.nova.openstack.c5c3.io/v1"
	Kind       = "Preview"
)

// Mode is what was compared.
type Mode string

// The modes.
const (
	// ModeLive compares a resource with the live objects of a cluster.
	ModeLive Mode = "live"
	// ModeOffline compares two renders.
	ModeOffline Mode = "offline"
)

// Action is what a change does to one object.
type Action string

// The actions.
const (
	ActionCreate   Action = "create"
	ActionChange   Action = "change"
	ActionRecreate Action = "recreate"
	ActionDelete   Action = "delete"
	// ActionHeld: a closed gate leaves the object as it is.
	ActionHeld Action = "held"
	// ActionWait: its predecessor is being deleted; then it is created.
	ActionWait Action = "wait"
	// ActionRefused: the object can't be written, and Error says why.
	ActionRefused Action = "refused"
	// ActionUnchanged: of a resource only. Unchanged objects are counted, not listed.
	ActionUnchanged Action = "unchanged"
)

// differs tells the actions that count as a difference.
var differs = map[Action]bool{
	ActionCreate: true, ActionChange: true, ActionRecreate: true, ActionDelete: true, ActionWait: true, ActionRefused: true,
}

// Document is a whole preview.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Mode       Mode   `json:"mode"`
	// From and To name the sides of an offline preview as they were given.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Summary counts over all resources.
	Summary   Summary    `json:"summary"`
	Resources []Resource `json:"resources"`
}

// Summary counts what a change does.
type Summary struct {
	Create    int `json:"create"`
	Change    int `json:"change"`
	Recreate  int `json:"recreate"`
	Delete    int `json:"delete"`
	Held      int `json:"held"`
	Unchanged int `json:"unchanged"`
	// Refused counts objects that can't be written.
	Refused int `json:"refused"`
	// Jobs counts the Jobs that run.
	Jobs int `json:"jobs"`
	// Rollouts counts the times a workload replaces its pods, Deployments and DaemonSets how
	// many do, Pods the pods that are replaced, all rollouts added up.
	Rollouts    int `json:"rollouts"`
	Deployments int `json:"deployments"`
	DaemonSets  int `json:"daemonSets,omitempty"`
	Pods        int `json:"pods"`
	// Started and Stopped count the pods of workloads that come and go.
	Started int `json:"started"`
	Stopped int `json:"stopped"`
}

// Resource is what a change does to one custom resource and everything it stands for.
type Resource struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Action    Action `json:"action"`
	// Changes are the fields of the resource itself.
	Changes []Change `json:"changes"`
	Summary Summary  `json:"summary"`
	// Configuration is what differs in the configuration files; null when nothing does.
	Configuration *Configuration `json:"configuration"`
	// Sequence is what runs, in order.
	Sequence []Run `json:"sequence"`
	// Objects are the children that do not stay as they are, in apply order.
	Objects []Object `json:"objects"`
	// Held are the children a closed gate leaves as they are.
	Held []Held `json:"held"`
	// NotReady are the conditions that are not True when nothing moves any more.
	NotReady []Condition `json:"notReady"`
	// Events are what the passes will tell on the way.
	Events []Event `json:"events"`
	// Notes are facts about this preview: what it assumed, what it could not ask.
	Notes []string `json:"notes"`
	// Errors are why the resource can't get there.
	Errors []string `json:"errors"`
}

// Object is what happens to one child.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Action     Action `json:"action"`
	Reason     string `json:"reason,omitempty"`
	// Changes are the fields that change, of a change or recreate.
	Changes []Change `json:"changes,omitempty"`
	// Keys are the data keys of a created Secret.
	Keys []string `json:"keys,omitempty"`
	// Content is a created or recreated object, without credentials.
	Content map[string]any `json:"content,omitempty"`
	Error   string         `json:"error,omitempty"`

	// before and after are without credentials, nil where there is none.
	before, after map[string]any
}

// Change is one field. A credential is a keyed digest, "hidden:" and eight hex digits.
type Change struct {
	// Path is the field as users write it: spec.template.spec.containers[name=api].image.
	Path string `json:"path"`
	// From and To are JSON values; null is absent.
	From any `json:"from"`
	To   any `json:"to"`
	// Manager holds the field now, when it is not the operator: the change takes it.
	Manager string `json:"manager,omitempty"`
}

// Configuration is a generation of the configuration, the one it follows, and the options
// that differ between the two.
type Configuration struct {
	Name    string       `json:"name"`
	Follows string       `json:"follows"`
	Lines   []ConfigLine `json:"lines"`
}

// ConfigLine is one option of a configuration file. A repeated option has several
// values; an absent one has none.
type ConfigLine struct {
	File    string   `json:"file"`
	Section string   `json:"section"`
	Option  string   `json:"option"`
	From    []string `json:"from"`
	To      []string `json:"to"`
}

// Held is a child a gate leaves as it is.
type Held struct {
	Object string `json:"object"`
	Gate   string `json:"gate"`
}

// Condition is a condition that is not True.
type Condition struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Event is an event of the passes.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// RunKind is what a run is.
type RunKind string

// The kinds of runs.
const (
	// RunPhase: an upgrade enters a phase; its last one ends it.
	RunPhase RunKind = "phase"
	// RunJob: a Job runs.
	RunJob RunKind = "job"
	// RunStart: a workload is new.
	RunStart RunKind = "start"
	// RunRollout: a workload replaces its pods.
	RunRollout RunKind = "rollout"
	// RunScale: a Deployment changes its number of pods without replacing any.
	RunScale RunKind = "scale"
	// RunStop: a workload goes.
	RunStop RunKind = "stop"
)

// Run is one thing that runs.
type Run struct {
	Kind RunKind `json:"kind"`
	// Object is the Job or workload, Phase the phase that is entered, "Done" or
	// "Aborted" at the end.
	Object string `json:"object,omitempty"`
	Phase  string `json:"phase,omitempty"`
	// Why lists what makes it run, in the words of the change.
	Why []string `json:"why,omitempty"`
	// Pods is how many pods it replaces, starts or stops.
	Pods int `json:"pods,omitempty"`
}

// Differs reports whether the change does anything.
func (d *Document) Differs() bool {
	for i := range d.Resources {
		r := &d.Resources[i]
		if differs[r.Action] {
			return true
		}
		for j := range r.Objects {
			if differs[r.Objects[j].Action] {
				return true
			}
		}
	}
	return false
}

// Failed reports whether a resource can't get to where the change wants it.
func (d *Document) Failed() bool {
	for i := range d.Resources {
		if len(d.Resources[i].Errors) > 0 || d.Resources[i].Summary.Refused > 0 {
			return true
		}
	}
	return false
}

// New counts the resources up into a document.
func New(mode Mode, from, to string, resources []Resource) *Document {
	d := &Document{APIVersion: APIVersion, Kind: Kind, Mode: mode, From: from, To: to, Resources: resources}
	if d.Resources == nil {
		d.Resources = []Resource{}
	}
	for i := range resources {
		d.Summary.add(resources[i].Summary)
	}
	return d
}

func (s *Summary) add(o Summary) {
	s.Create += o.Create
	s.Change += o.Change
	s.Recreate += o.Recreate
	s.Delete += o.Delete
	s.Held += o.Held
	s.Unchanged += o.Unchanged
	s.Refused += o.Refused
	s.Jobs += o.Jobs
	s.Rollouts += o.Rollouts
	s.Deployments += o.Deployments
	s.DaemonSets += o.DaemonSets
	s.Pods += o.Pods
	s.Started += o.Started
	s.Stopped += o.Stopped
}

// count adds one object.
func (s *Summary) count(a Action) {
	switch a {
	case ActionCreate, ActionWait:
		s.Create++
	case ActionChange:
		s.Change++
	case ActionRecreate:
		s.Recreate++
	case ActionDelete:
		s.Delete++
	case ActionHeld:
		s.Held++
	case ActionRefused:
		s.Refused++
	case ActionUnchanged:
		s.Unchanged++
	}
}
