package identity_test

import (
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
	"steward/internal/fault"
	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/scope"
)

func TestAppIDsAreUniqueAmongAppsThatAreNotDeleted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		apps := resource.New(d, time.Now, identity.Apps)
		first, err := apps.Create(ctx, identity.CreateApp{AppID: "Pay.Roll_1", Name: "  Payroll "})
		if err != nil {
			t.Fatal(err)
		}
		if first.AppID != "Pay.Roll_1" || first.Name != "Payroll" || !first.IsActive || first.Description != "" {
			t.Errorf("made %+v", first)
		}
		if _, err := apps.Create(ctx, identity.CreateApp{AppID: "PAY.roll_1", Name: "Other"}); !fault.Is(err, fault.AppAlreadyExists) {
			t.Errorf("the same id in another case: %v", err)
		}
		other, err := apps.Create(ctx, identity.CreateApp{AppID: "other", Name: "Other", IsActive: new(false)})
		if err != nil || other.IsActive {
			t.Fatalf("made %+v, %v", other, err)
		}
		if _, err := apps.Update(ctx, other.ID, nil, identity.UpdateApp{AppID: new("pay.ROLL_1")}); !fault.Is(err, fault.AppAlreadyExists) {
			t.Errorf("renamed to a taken id: %v", err)
		}
		if err := apps.Delete(ctx, first.ID, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := apps.Update(ctx, other.ID, nil, identity.UpdateApp{AppID: new("pay.ROLL_1")}); err != nil {
			t.Errorf("renamed to the id of a deleted app: %v", err)
		}
		if _, err := apps.Get(ctx, first.ID, false); !fault.Is(err, fault.AppNotFound) {
			t.Errorf("the deleted app: %v", err)
		}
	})
}

func TestAppsBelongToNoTenant(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		apps := resource.New(d, time.Now, identity.Apps)
		app, err := apps.Create(scope.WithActor(t.Context(), &scope.Actor{}), identity.CreateApp{AppID: "a", Name: "A"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := apps.Get(t.Context(), app.ID, false); err != nil {
			t.Error(err)
		}
	})
}
