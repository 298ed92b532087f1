package preview

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes the document, indented. Lists are empty, never absent.
func (d *Document) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("print the preview: %w", err)
	}
	return nil
}
