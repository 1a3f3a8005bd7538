package identity

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/fault"
	"steward/internal/scope"
)

func TestAnExportThatWouldBeTooLargeIsRefusedNotCutOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := &Service{db: d, clock: time.Now, maxExport: 3}
		ctx := scope.WithActor(t.Context(), &scope.Actor{TenantID: uuid.New(), InTenant: true})
		write := func(n int) {
			err := d.Write(ctx, func(tx db.Tx) error {
				for i := range n {
					if err := audit.Write(ctx, tx, audit.Entry{Action: "thing.made", TargetType: "thing", TargetID: strconv.Itoa(i)}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		write(3)
		walk, err := s.ExportAudit(ctx, AuditFilter{}, "", uuid.Nil)
		if err != nil {
			t.Fatal(err)
		}
		write(1) // after it was counted, so not in the file
		seen := 0
		if err := walk(func(audit.Record) error { seen++; return nil }); err != nil || seen != 3 {
			t.Errorf("%d entries, %v", seen, err)
		}
		if _, err := s.ExportAudit(ctx, AuditFilter{}, "", uuid.Nil); !fault.Is(err, fault.Validation) {
			t.Errorf("four entries: %v", err)
		}
		if _, err := s.ExportAudit(ctx, AuditFilter{Target: "2"}, "", uuid.Nil); err != nil {
			t.Errorf("a narrower filter: %v", err)
		}
	})
}
