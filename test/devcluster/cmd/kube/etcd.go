package main

import (
	"context"
	"fmt"
	"net/url"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdCommand runs one etcd member without fsync: a cluster for tests has
// nothing worth surviving a power cut, and fsync is most of etcd's time.
func etcdCommand() *cobra.Command {
	var dir, client, peer string
	cmd := &cobra.Command{
		Use:           "etcd",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			return runEtcd(dir, client, peer)
		},
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "folder of the data")
	cmd.Flags().StringVar(&client, "listen-client-url", "", "URL clients connect to")
	cmd.Flags().StringVar(&peer, "listen-peer-url", "", "URL peers would connect to")
	return cmd
}

func runEtcd(dir, client, peer string) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("parse client URL: %w", err)
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("parse peer URL: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "warn"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("run etcd: %w", err)
	}
}
