package webhook

// How the API server finds the webhooks, generated into kustomize/webhook, and the
// permissions of a process that serves nothing else, generated into its folder
// standalone.
//
// +kubebuilder:webhookconfiguration:mutating=true,name=nova-operator
// +kubebuilder:webhookconfiguration:mutating=false,name=nova-operator
// +kubebuilder:webhook:path=/mutate-nova-openstack-c5c3-io-v1alpha1-nova,mutating=true,failurePolicy=fail,sideEffects=None,groups=nova.openstack.c5c3.io,resources=novas,verbs=create;update,versions=v1alpha1,name=mnova.kb.io,admissionReviewVersions=v1,serviceName=nova-operator-webhook,serviceNamespace=nova-operator-system
// +kubebuilder:webhook:path=/validate-nova-openstack-c5c3-io-v1alpha1-nova,mutating=false,failurePolicy=fail,sideEffects=None,groups=nova.openstack.c5c3.io,resources=novas,verbs=create;update,versions=v1alpha1,name=vnova.kb.io,admissionReviewVersions=v1,serviceName=nova-operator-webhook,serviceNamespace=nova-operator-system
// +kubebuilder:webhook:path=/mutate-nova-openstack-c5c3-io-v1alpha1-novacompute,mutating=true,failurePolicy=fail,sideEffects=None,groups=nova.openstack.c5c3.io,resources=novacomputes,verbs=create;update,versions=v1alpha1,name=mnovacompute.kb.io,admissionReviewVersions=v1,serviceName=nova-operator-webhook,serviceNamespace=nova-operator-system
// +kubebuilder:webhook:path=/validate-nova-openstack-c5c3-io-v1alpha1-novacompute,mutating=false,failurePolicy=fail,sideEffects=None,groups=nova.openstack.c5c3.io,resources=novacomputes,verbs=create;update,versions=v1alpha1,name=vnovacompute.kb.io,admissionReviewVersions=v1,serviceName=nova-operator-webhook,serviceNamespace=nova-operator-system
// +kubebuilder:rbac:groups=nova.openstack.c5c3.io,resources=novas,verbs=get;list
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get
