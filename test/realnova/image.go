package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// imagePath is where the commands of an image are looked for, the image's own first.
const imagePath = "PATH=/var/lib/openstack/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// image is a name in the node's image store that stands for a tree.
type image struct {
	name    string
	tree    string
	command []string
}

// load puts an image into containerd's store without copying its tree: what is imported
// holds one empty file, and the tree is mounted over the layer unpacked from it. Every
// container gets its own writable layer above, as from any image.
func (n *node) load(ctx context.Context, i image) error {
	archive := filepath.Join(n.dir, "image.tar")
	if err := writeArchive(archive, i); err != nil {
		return fmt.Errorf("pack image %s: %w", i.name, err)
	}
	before := n.layers()
	if _, err := n.ctr(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("import image %s: %w", i.name, err)
	}
	var added []string
	for _, layer := range n.layers() {
		if !slices.Contains(before, layer) {
			added = append(added, layer)
		}
	}
	if len(added) != 1 {
		return fmt.Errorf("import image %s: %d layers were unpacked, not one", i.name, len(added))
	}
	if err := syscall.Mount(i.tree, added[0], "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s as the layer of %s: %w", i.tree, i.name, err)
	}
	if err := syscall.Mount("", added[0], "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount %s read-only: %w", i.tree, err)
	}
	return os.Remove(archive)
}

// layers are the folders containerd has unpacked layers in.
func (n *node) layers() []string {
	found, _ := filepath.Glob(filepath.Join(n.dir, "containerd/root/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs"))
	return found
}

// writeArchive writes an OCI archive with one layer.
func writeArchive(path string, i image) error {
	layer, err := tarOf(map[string][]byte{"image": []byte(i.name + "\n")})
	if err != nil {
		return err
	}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion": "1.0.0"}`)}
	blob := func(mediaType string, data []byte) map[string]any {
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		files["blobs/sha256/"+sum] = data
		return map[string]any{"mediaType": mediaType, "digest": "sha256:" + sum, "size": len(data)}
	}
	packed := blob("application/vnd.oci.image.layer.v1.tar", layer)
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": []string{imagePath, "LC_ALL=C.UTF-8"}, "Cmd": i.command},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{packed["digest"]}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": blob("application/vnd.oci.image.config.v1+json", config), "layers": []any{packed},
	})
	if err != nil {
		return err
	}
	entry := blob("application/vnd.oci.image.manifest.v1+json", manifest)
	entry["annotations"] = map[string]string{"io.containerd.image.name": i.name}
	if files["index.json"], err = json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{entry}}); err != nil {
		return err
	}
	data, err := tarOf(files)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func tarOf(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, data := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), errors.Join(w.Close())
}
