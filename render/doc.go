// Package render is the vocabulary in which a decision is written down: the objects that
// should exist, those that must not, and those a closed gate holds, for any kind of custom
// resource.
//
// It knows no custom resource and reaches nothing: no client, clock, environment,
// randomness or logging. The packages below it decide (pipeline takes a decision step by
// step, nova holds the rules of a Nova); package apply carries a Set out on one cluster;
// the commands print it.
//
// # Glossary
//
// The words of the Kubernetes API documentation mean here what they mean there. These are
// used in a narrower sense, or are our own:
//
//   - absent: an object that must not exist, because its feature is off.
//   - answer: what came of a question, or of a call, to OpenStack. A failure is one, too.
//   - call: something a decision wants done in OpenStack after its set was applied.
//   - child: an object that a custom resource owns. A row of its kind's index.
//   - decision: what one pass decides: set, conditions, events, questions, calls, requeue.
//   - desired, live: an object as it was decided, and as the cluster has it.
//   - drift: a field we own, or a whole object, was changed by somebody else.
//   - facts: what was observed, as plain data.
//   - forecast: the decisions of the passes to come, in a world where what they want comes
//     about.
//   - foreign: an object of a child's name that is somebody else's.
//   - form: the canonical payload of an object, in which equal wishes are equal bytes.
//   - gate: what a pass waits for. Behind a closed gate children are held.
//   - generation: one ConfigMap of a configuration, named by the hash of its content.
//   - held: left exactly as it is, neither applied nor removed.
//   - home, target: the operator's own cluster, and another one that holds children.
//   - index: the steps and children of a kind, in the order of a pass.
//   - inventory: what is live and carries a resource's marks of ownership.
//   - mark: the owner reference, or the labels, that make an object a child.
//   - mask: to put a placeholder, or a keyed digest, in the place of a credential.
//   - pass: one run over a resource: observe, decide, apply, call, record.
//   - phase: where a release upgrade is.
//   - place: a cluster that receives children, and how it is reached.
//   - prune: to delete what is in the inventory and that nobody named.
//   - question: something a decision wants to know of OpenStack.
//   - record: to write the status, or that a Job was counted.
//   - retained: a generation that stays as history, or because a pod mounts it.
//   - set: everything a resource is responsible for: desired, absent, held.
//   - settled: decided again and again until nothing moves.
//   - step: one unit of conditions, metrics and short-circuiting of a pass.
//   - subject: a resource with what was observed of its world.
//   - turn: the change of a phase into another.
//   - wave, or stage: objects that are applied together; the next one waits for them.
//   - world: a subject in which what a decision wants can be assumed to come about.
package render
