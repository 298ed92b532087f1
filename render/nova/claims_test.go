package nova

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
)

func claims(list ...facts.SchemaClaim) func(*Input) {
	return func(in *Input) { in.Observed.Claims = list }
}

var claimCases = map[string]stepCase{
	"somebody else was first": {
		change: claims(facts.SchemaClaim{Holder: "Nova other", Schema: "schema nova on MariaDB mariadb", Path: "spec.database.database", First: true}),
		want: waitsForDatabase(v1alpha1.ReasonSchemaInUse, "spec.database.database: schema nova on MariaDB mariadb belongs to Nova other; "+
			"nothing is written to it. Name another schema, or remove the other one",
			allDatabase...),
	},
	"somebody else came later": {
		change: claims(facts.SchemaClaim{Holder: "Nova other", Schema: "schema nova on MariaDB mariadb", Path: "spec.database.database"}),
		want:   synced(),
	},
}

func TestDatabase_Claims(t *testing.T) { runCases(t, v1alpha1.ConditionDatabaseReady, claimCases) }

func TestClaims(t *testing.T) {
	at := func(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }
	nova := func(namespace, name string, created int64, edit ...func(*v1alpha1.Nova)) v1alpha1.Nova {
		n := parse(t, minimalYAML)
		n.Namespace, n.Name, n.UID, n.CreationTimestamp = namespace, name, types.UID(namespace+"/"+name), at(created)
		for _, f := range edit {
			f(n)
		}
		return *n
	}
	apart := func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database, n.Spec.Database.Database = "b_api", "b" }
	brownfield := func(host string, port int32) func(*v1alpha1.Nova) {
		return func(n *v1alpha1.Nova) {
			apart(n)
			n.Spec.Database.ClusterRef, n.Spec.Database.Host, n.Spec.Database.Port, n.Spec.Database.Database = nil, host, port, "nova"
		}
	}
	for name, tc := range map[string]struct {
		mine      v1alpha1.Nova
		novas     []v1alpha1.Nova
		databases []DatabaseClaim
		made      metav1.Time
		want      []facts.SchemaClaim
	}{
		"alone, beside itself": {mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("a", "nova", 5)}},
		"other schemas":        {mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("a", "b", 1, apart)}},
		"the same, earlier": {
			mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("a", "b", 1, apart, func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database = "nova_api" })},
			want: []facts.SchemaClaim{{Holder: "Nova b", Schema: "schema nova_api on MariaDB mariadb", Path: "spec.apiDatabase.database", First: true}},
		},
		"cell0 of one is the schema of another, later": {
			mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("a", "b", 9, apart, func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database = "nova_cell0" })},
			want: []facts.SchemaClaim{{Holder: "Nova b", Schema: "schema nova_cell0 on MariaDB mariadb", Path: "spec.database.database"}},
		},
		"of equal age the name decides": {
			mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("a", "b", 5, apart, func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database = "nova_api" })},
			want: []facts.SchemaClaim{{Holder: "Nova b", Schema: "schema nova_api on MariaDB mariadb", Path: "spec.apiDatabase.database", First: true}},
		},
		"a MariaDB of that name in another namespace": {mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("b", "nova", 1)}},
		"a MariaDB of that name on another cluster": {mine: nova("a", "nova", 5), novas: []v1alpha1.Nova{nova("a", "b", 1, func(n *v1alpha1.Nova) {
			n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge"}
		})}},
		"one server, two namespaces": {
			mine: nova("a", "nova", 5, brownfield("DB.example.com", 0)), novas: []v1alpha1.Nova{nova("b", "nova", 1, brownfield("db.example.com", 3306))},
			want: []facts.SchemaClaim{
				{Holder: "a Nova of another namespace", Schema: "schema nova on db.example.com:3306", Path: "spec.database.database", First: true},
				{Holder: "a Nova of another namespace", Schema: "schema nova_cell0 on db.example.com:3306", Path: "spec.database.database", First: true},
			},
		},
		"another port": {mine: nova("a", "nova", 5, brownfield("db", 0)), novas: []v1alpha1.Nova{nova("b", "nova", 1, brownfield("db", 3307))}},
		"a Database, before ours is made": {
			mine: nova("a", "nova", 5), databases: []DatabaseClaim{{"keystone", "mariadb", "nova_api", at(9)}, {"x", "other", "nova", at(1)}},
			want: []facts.SchemaClaim{{Holder: "Database keystone", Schema: "schema nova_api on MariaDB mariadb", Path: "spec.apiDatabase.database", First: true}},
		},
		"a Database that came after ours": {
			mine: nova("a", "nova", 5), databases: []DatabaseClaim{{"late", "mariadb", "nova", at(9)}}, made: at(5),
			want: []facts.SchemaClaim{{Holder: "Database late", Schema: "schema nova on MariaDB mariadb", Path: "spec.database.database"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Claims(&tc.mine, tc.novas, tc.databases, func(string) metav1.Time { return tc.made })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
