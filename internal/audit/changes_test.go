package audit_test

import (
	"testing"

	"steward/internal/audit"
)

type stamp struct {
	UpdatedAt string `json:"updatedAt" audit:"-"`
}

type address struct {
	City string `json:"city"`
	Code string `json:"code" audit:"-"`
}

type person struct {
	stamp
	Name               string             `json:"name"`
	Age                int64              `json:"age"`
	Password           string             `json:"password,omitempty"`
	MustChangePassword bool               `json:"mustChangePassword"`
	Home               *address           `json:"home,omitempty"`
	Others             []address          `json:"others,omitempty"`
	ByName             map[string]address `json:"byName,omitempty"`
	Extra              any                `json:"extra,omitempty"`
	Internal           string             `json:"-"`
}

func TestChanges(t *testing.T) {
	base := person{Name: "Ada", Age: 36}
	with := func(change func(*person)) person { p := base; change(&p); return p }
	tests := []struct {
		name          string
		before, after any
		was, is       string
	}{
		{"a new thing has no before", nil, base, ``, `{"age":36,"mustChangePassword":false,"name":"Ada"}`},
		{"a removed thing has no after", base, nil, `{"age":36,"mustChangePassword":false,"name":"Ada"}`, ``},
		{"a nil pointer is no thing", (*person)(nil), map[string]any{"a": 1}, ``, `{"a":1}`},
		{"nothing changed", base, base, ``, ``},
		{"only the changed field is kept", base, with(func(p *person) { p.Name = "Eve" }), `{"name":"Ada"}`, `{"name":"Eve"}`},
		{"a pointer and its value compare", &base, with(func(p *person) { p.Age = 37 }), `{"age":36}`, `{"age":37}`},
		{"large numbers are compared exactly", with(func(p *person) { p.Age = 9007199254740992 }),
			with(func(p *person) { p.Age = 9007199254740993 }), `{"age":9007199254740992}`, `{"age":9007199254740993}`},
		{"a field that appears is on one side", base, with(func(p *person) { p.Home = &address{City: "Rome"} }), ``, `{"home":{"city":"Rome"}}`},
		{"tagged fields are dropped in embedded structs", with(func(p *person) { p.UpdatedAt = "1" }),
			with(func(p *person) { p.UpdatedAt = "2" }), ``, ``},
		{"tagged fields are dropped at every depth", nil, map[string]any{"p": []any{address{"Rome", "x"}}, "q": &address{"Oslo", "y"}}, ``,
			`{"p":[{"city":"Rome"}],"q":{"city":"Oslo"}}`},
		{"tagged fields are dropped in lists, maps and interfaces", nil,
			person{Others: []address{{"Rome", "x"}}, ByName: map[string]address{"a": {"Oslo", "y"}}, Extra: address{"Bern", "z"}}, ``,
			`{"age":0,"byName":{"a":{"city":"Oslo"}},"extra":{"city":"Bern"},"mustChangePassword":false,"name":"","others":[{"city":"Rome"}]}`},
		{"a secret is never kept", base, with(func(p *person) { p.Password = "hunter2" }), ``, ``},
		{"a flag about a secret is kept", base, with(func(p *person) { p.MustChangePassword = true }),
			`{"mustChangePassword":false}`, `{"mustChangePassword":true}`},
		{"secrets go by name in any spelling and depth", nil, map[string]any{
			"password_hash": "a", "newPassword": "b", "REFRESH-TOKEN": "c", "clientSecret": "d", "apiKey": "e",
			"nested":    map[string]any{"accessToken": "f", "list": []any{map[string]any{"Secret": "g", "kept": 1}}},
			"tokenType": "Tenant", "passwordChangedAt": "2026-01-01",
		}, ``, `{"nested":{"list":[{"kept":1}]},"passwordChangedAt":"2026-01-01","tokenType":"Tenant"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			was, is, err := audit.Changes(tt.before, tt.after)
			if err != nil {
				t.Fatal(err)
			}
			if string(was) != tt.was || string(is) != tt.is {
				t.Errorf("got  %s -> %s\nwant %s -> %s", was, is, tt.was, tt.is)
			}
		})
	}
}

func TestChangesRefusesWhatIsNoObject(t *testing.T) {
	for _, state := range []any{"text", 5, []int{1}, make(chan int)} {
		if _, _, err := audit.Changes(nil, state); err == nil {
			t.Errorf("%T was accepted", state)
		}
	}
}
