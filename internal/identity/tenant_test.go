package identity

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/fault"
)

// storedTenant is a tenant without users.
func storedTenant(t *testing.T, d *db.DB, maxUsers *int) Tenant {
	t.Helper()
	tenant := newTenant(uuid.New(), db.At(time.Now()))
	tenant.Name, tenant.Identifier, tenant.MaxUsers = "Acme", uuid.NewString(), maxUsers
	err := d.Write(t.Context(), func(tx db.Tx) error {
		_, err := insertTenant(t.Context(), tx, tenant)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

func TestPlacesInATenant(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		tenant := storedTenant(t, d, new(3))
		take := func() error {
			return d.Write(t.Context(), func(tx db.Tx) error { return requirePlace(t.Context(), tx, tenant.ID) })
		}
		var taken, refused atomic.Int32
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				switch err := take(); {
				case err == nil:
					taken.Add(1)
				case fault.Is(err, fault.TenantCapacityReached):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if taken.Load() != 3 || refused.Load() != 7 {
			t.Fatalf("%d taken, %d refused", taken.Load(), refused.Load())
		}
		if err := d.Write(t.Context(), func(tx db.Tx) error { return freePlace(t.Context(), tx, tenant.ID) }); err != nil {
			t.Fatal(err)
		}
		if err := take(); err != nil {
			t.Errorf("a place that was freed: %v", err)
		}
		if read, err := requireTenant(t.Context(), d, tenant.ID); err != nil || read.UserCount != 3 {
			t.Errorf("%d users counted, %v", read.UserCount, err)
		}
	})
}

func TestATenantIsDeletedOrJoinedNeverBoth(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for range 20 {
			tenant := storedTenant(t, d, nil)
			var joined, buried bool
			var wait sync.WaitGroup
			wait.Go(func() {
				err := d.Write(t.Context(), func(tx db.Tx) error { return requirePlace(t.Context(), tx, tenant.ID) })
				if joined = err == nil; err != nil && !fault.Is(err, fault.TenantNotFound) {
					t.Error(err)
				}
			})
			wait.Go(func() {
				err := d.Write(t.Context(), func(tx db.Tx) (err error) {
					buried, err = buryTenant(t.Context(), tx, tenant.ID, tenant.CreatedAt)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
			wait.Wait()
			if joined == buried {
				t.Fatalf("joined %t, deleted %t", joined, buried)
			}
		}
	})
}

func TestATenantKeepsItsSettings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		tenant := storedTenant(t, d, nil)
		err := d.Write(t.Context(), func(tx db.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE tenants SET settings = '{"language":"pl","later":1}' WHERE id = $1`, tenant.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := requireTenant(t.Context(), d, tenant.ID)
		if want := (TenantSettings{Timezone: "UTC", Language: "pl"}); err != nil || read.Settings != want {
			t.Errorf("read %+v, %v", read.Settings, err)
		}
	})
}

func TestSlugs(t *testing.T) {
	slugs := slugsOf("Acme")
	if len(slugs) != numberedSlugs+randomSlugs || slugs[0] != "acme" || slugs[1] != "acme-2" || slugs[8] != "acme-9" || slugs[9] == slugs[10] {
		t.Errorf("slugs %v", slugs)
	}
	for name, want := range map[string]string{
		"Ærø & Sønner A/S": "aero-sonner-a-s", "ÀÉÎ": "aei", "--x--": "x", "": "tenant", "Ⅷ": "viii", "1 2": "1-2",
	} {
		if got := slugOf(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
