package nova

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Kind is what the shell has to know about a Nova.
func Kind(namespaceScoped bool) pass.Kind {
	return pass.Kind{
		Kind: rendernova.About(),
		Name: "nova",
		New:  func() v1alpha1.Resource { return &v1alpha1.Nova{} }, NewList: func() client.ObjectList { return &v1alpha1.NovaList{} },
		Finalizer: v1alpha1.FinalizerNova,
		Observe: func(ctx context.Context, from pass.Reads, r v1alpha1.Resource) (pass.Subject, error) {
			return observe(ctx, from, r.(*v1alpha1.Nova))
		},
		Lost: func(r v1alpha1.Resource, settings render.Settings, why string) pass.Subject {
			return &rendernova.Input{Nova: r.(*v1alpha1.Nova), Observed: rendernova.Observed{TargetCluster: why}, Settings: settings}
		},
		Teardown: func(ctx context.Context, from pass.Reads, r v1alpha1.Resource) (pipeline.Teardown, error) {
			in := rendernova.Input{Nova: r.(*v1alpha1.Nova), Settings: from.Settings}
			o := observer{Reads: from, in: &in}
			if err := o.children(ctx); err != nil {
				return pipeline.Teardown{}, err
			}
			return rendernova.Teardown(in), nil
		},
		Abandoned: func(r v1alpha1.Resource) []render.Event { return rendernova.Abandoned(r.(*v1alpha1.Nova)) },
		Expected: func(r v1alpha1.Resource, c diff.Conflict) bool {
			return rendernova.LeftByAutoscaler(r.(*v1alpha1.Nova), c.Key, c.Path)
		},
		Series: func(r v1alpha1.Resource) metrics.Series {
			return metrics.Series{Kind: v1alpha1.KindNova, Namespace: r.GetNamespace(), Name: r.GetName(), Nova: r.GetName()}
		},
		Count:   count,
		Indexes: map[string]client.IndexerFunc{secretRefsIndex: secretRefs},
		Sources: func(f *pass.Feed) []pass.Source { return sources(f, namespaceScoped) },
	}
}

// count counts a finished Job.
func count(s metrics.Series, rec pipeline.Record) {
	total, duration := metrics.DBSync, metrics.DBSyncDuration
	if rec.Subject == v1alpha1.JobSubjectDBArchive {
		total, duration = metrics.DBArchive, metrics.DBArchiveDuration
	}
	total.WithLabelValues(s.Nova, s.Namespace, rec.Result).Inc()
	duration.WithLabelValues(s.Nova, s.Namespace).Observe(rec.Duration.Seconds())
}

// Look observes the world of a Nova for a preview, past every cache. What it reads is what
// a pass of the controller would decide from now, but for the health of the API, which is
// out of reach outside a cluster: what the last pass said about it still holds.
func Look(ctx context.Context, reader client.Reader, mapper meta.RESTMapper, in *rendernova.Input) error {
	capabilities := pass.Served(mapper)
	if err := capabilities.Err(); err != nil {
		return err
	}
	reads := pass.Reads{Cached: reader, Uncached: reader, Capabilities: capabilities, Settings: in.Settings}
	if in.Nova.TargetCluster() == "" {
		reads.Resources = reader
	}
	seen, err := observe(ctx, reads, in.Nova)
	if err != nil {
		return err
	}
	in.Observed = seen.Observed
	return nil
}
