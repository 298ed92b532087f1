package pipeline_test

import (
	"time"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// What follows is a whole kind of two steps and three children: what one takes on top of
// this package.

// subject is a pool, and what was observed.
type subject struct {
	pool *v1alpha1.NovaCompute
	nova *v1alpha1.Nova
}

// pass is one decision about a pool in the making.
type pass struct {
	*pipeline.Pass
	subject
}

var index = pipeline.Index[*v1alpha1.NovaCompute, *pass]{
	Kind:       v1alpha1.GroupVersion.WithKind(v1alpha1.KindNovaCompute),
	Conditions: []string{v1alpha1.ConditionNovaReady, v1alpha1.ConditionDaemonSetReady},
	Steps: []pipeline.Step[*pass]{
		{Name: "NovaRef", Condition: v1alpha1.ConditionNovaReady, Run: novaRef},
		{Name: "DaemonSet", Condition: v1alpha1.ConditionDaemonSetReady, Run: func(p *pass) { p.Ready("DaemonSetReady", "") }},
	},
	Children: []pipeline.Child[*v1alpha1.NovaCompute, *pass]{
		{ID: "account", Step: "NovaRef", Kind: render.KindSecret, Stage: render.StageConfig, Name: named("-account"), Data: true, Build: account},
		{ID: "daemonset", Step: "DaemonSet", Kind: render.KindDaemonSet, Stage: render.StageWorkloads, Name: named("-compute"), Build: daemonSet},
		{ID: "config", Step: "DaemonSet", Kind: render.KindConfigMap, Stage: render.StageConfig, Name: named("-config"), Build: config, Off: "no options"},
	},
}

func named(suffix string) func(*v1alpha1.NovaCompute) string {
	return func(c *v1alpha1.NovaCompute) string { return c.Name + suffix }
}

func novaRef(p *pass) {
	if p.nova == nil {
		p.Wait(v1alpha1.ReasonNovaNotFound, "Nova not found", 15*time.Second)
		p.HoldAfter("", v1alpha1.ReasonNovaNotFound)
		return
	}
	p.Ready("NovaResolved", "")
}

func account(p *pass) (render.Resource, error) {
	if p.nova.Spec.Region == "" {
		return nil, nil
	}
	return corev1ac.Secret(p.pool.Name+"-account", p.pool.Namespace), nil
}

func daemonSet(p *pass) (render.Resource, error) {
	return appsv1ac.DaemonSet(p.pool.Name+"-compute", p.pool.Namespace), nil
}

func config(p *pass) (render.Resource, error) {
	if len(p.pool.Spec.ExtraConfig) == 0 {
		return nil, nil
	}
	return corev1ac.ConfigMap(p.pool.Name+"-config", p.pool.Namespace), nil
}

// Resource implements pipeline.Subject.
func (s subject) Resource() v1alpha1.Resource { return s.pool }

// Decide implements pipeline.Subject.
func (s subject) Decide() pipeline.Decision {
	p := &pass{Pass: index.New(s.pool, nil), subject: s}
	p.After = v1alpha1.Copy(s.pool)
	index.Run(p.Pass, s.pool, p)
	index.Finish(p.Pass)
	return p.Decision
}
