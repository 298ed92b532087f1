# Bare `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := bin
TOOLS := tools
CLUSTER_FLAGS ?=

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use
.PHONY: build demo cluster render
build: ## Build the operator into bin/.
	go build -o $(BIN)/nova-operator ./cmd/nova-operator

demo: ## Bring a Nova up on a cluster made for it; ONCE=1 exits when it is Ready.
	go run ./test/demo

cluster: ## Run a bare control plane until ^C, with every definition; kubeconfig in bin/.
	go build -C test/devcluster -o "$(CURDIR)/$(BIN)/devcluster" ./cmd/devcluster
	exec $(BIN)/devcluster --kubeconfig "$(CURDIR)/$(BIN)/cluster.kubeconfig" --crds "all,$(CURDIR)/kustomize/crd" $(CLUSTER_FLAGS)

render: build ## Print what a fixture renders to: make render CASE=nova/minimal.
	@test -n "$(CASE)" || { echo 'say which: make render CASE=nova/minimal' >&2; exit 1; }
	@$(BIN)/nova-operator render -f fixtures/$(CASE)/nova.yaml --operator-namespace nova-operator \
		$$(test ! -e fixtures/$(CASE)/observed.yaml || echo --observed fixtures/$(CASE)/observed.yaml)

##@ Test
.PHONY: test test-fast test-tools test-cluster golden bench scale speed e2e
# -p 1: a suite with a control plane keeps all processors busy by itself.
test: test-cluster ## Run every test, on a real control plane where it takes one.
	go vet ./...
	go test -p 1 ./... -timeout 20m
	go vet -C test/devcluster ./cmd/devcluster
	go test -C test/devcluster ./cmd/devcluster
	go vet -C test/operations/promql .

test-cluster: ## Build the control plane of the tests: minutes the first time, then nothing.
	go run -C test/devcluster ./cmd/devcluster build

# Without what only the other targets need: vet runs in test, symbols are for debuggers.
# A package takes a control plane when its tests reach test/cluster, on whatever way.
test-fast: ## Run every test that takes no control plane, in a minute; ARGS=-count=1 runs all anew.
	go test -vet=off -ldflags="-s -w" $(ARGS) $$(go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | \
		awk '$$1 ~ /\.test$$/ && !/\/test\/cluster( |$$)/ {sub(/\.test$$/, "", $$1); print $$1}')

test-tools: ## Install what some tests need: oslo.config, SQLAlchemy, shellcheck, git.
	apt-get update
	apt-get install -y --no-install-recommends python3-oslo.config python3-oslo.messaging python3-sqlalchemy python3-pymysql shellcheck git

golden: ## Rewrite what the tests compare with and the pages made from code; read the diff.
	go test ./render/nova -run 'Fixtures|UpgradePage' -update
	go test ./cmd/nova-operator -update
	go test ./explain ./preview -update
	go test ./api/v1alpha1 -run ReasonsPage -update

bench: test-cluster ## Measure the applier beside others, and the decision.
	go test ./apply -run '^$$' -bench . -benchmem -timeout 20m
	go test ./render/nova ./cmd/nova-operator -run '^$$' -bench . -benchmem

scale: test-cluster ## Measure one operator under 10, 50 and 200 Novas.
	go run ./test/scale

speed: ## Time render and diff beside kustomize build and helm template.
	go run ./test/speed

e2e: ## Run a real Nova and check it, as root; KEEP=1 leaves it up, CHECKS=a,b chooses.
	go build -o $(BIN)/realnova ./test/realnova
	exec $(BIN)/realnova

##@ Keep in shape
.PHONY: generate verify lint
generate: ## Generate deep copies, definitions, permissions, catalogs and reference pages.
	go generate ./...

verify: generate ## Fail when a generated file is stale.
	@git diff --exit-code -- api kustomize docs || { echo 'generated files were stale: commit the difference' >&2; exit 1; }
	@test -z "$$(git status --porcelain -- api kustomize docs)" || { git status --short -- api kustomize docs; echo 'generated files are not committed' >&2; exit 1; }

lint: ## Check style and the import rules of the layers.
	go tool -modfile=$(TOOLS)/go.mod golangci-lint run --allow-parallel-runners ./...
	shellcheck render/nova/scripts/*.sh .ci/run
