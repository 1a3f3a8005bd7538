package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"steward/internal/app/apptest"
)

const (
	invitePath      = "/api/v1/users/invite"
	invitationsPath = "/api/v1/users/invitations"
)

// guests is a tenant with somebody who may invite.
type guests struct {
	*apptest.Server
	admin, tenant, member string
	host                  holder
}

func (g guests) invite(t *testing.T, body m) m {
	t.Helper()
	return g.Post(t, invitePath, g.host.Token, body).Want(t, http.StatusCreated).JSON
}

// guest invites somebody new and returns the address and the invitation.
func (g guests) guest(t *testing.T) (email string, invitation m) {
	t.Helper()
	email = newMark() + "@example.com"
	return email, g.invite(t, m{"email": email, "roleIds": []string{g.member}})
}

// accept chooses a password by the link of the newest mail.
func (g guests) accept(t *testing.T, email string) apptest.Answer {
	t.Helper()
	_, token := g.Link(t, email)
	return g.setPassword(t, email, token)
}

func (g guests) setPassword(t *testing.T, email, token string) apptest.Answer {
	t.Helper()
	return g.Post(t, "/api/auth/reset-password", "", m{"email": email, "token": token, "newPassword": password})
}

func (g guests) status(t *testing.T, invitation m) any {
	t.Helper()
	return g.Get(t, invitationsPath+"/"+invitation["id"].(string), g.host.Token).Want(t, http.StatusOK).JSON["status"]
}

func (g guests) revoke(t *testing.T, invitation m) apptest.Answer {
	t.Helper()
	return remove(t, g.Server, invitationsPath+"/"+invitation["id"].(string), g.host.Token)
}

func (g guests) resend(t *testing.T, invitation m) apptest.Answer {
	t.Helper()
	return g.Post(t, invitationsPath+"/"+invitation["id"].(string)+"/resend", g.host.Token, nil)
}

// places are the bindings that the tenant counts and has.
func (g guests) places(t *testing.T) [2]int {
	t.Helper()
	return [2]int{
		one[int](t, g.Server, `SELECT user_count FROM tenants WHERE id = $1`, g.tenant),
		one[int](t, g.Server, `SELECT count(*) FROM bindings b JOIN users u ON u.id = b.user_id WHERE b.tenant_id = $1 AND u.deleted_at IS NULL`, g.tenant),
	}
}

func TestInvitations(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		g := guests{Server: s, admin: s.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token, tenant: newTenant(t, s, "Guests"), member: systemRole(t, s, "Member")}
		g.host = newHolder(t, s, g.tenant, "read:users", "create:users", "read:reports", "create:reports", "delete:reports")
		s.Write(t, `UPDATE tenants SET user_count = 1 WHERE id = $1`, g.tenant)
		t.Run("somebody new", func(t *testing.T) { testInviteNew(t, g) })
		t.Run("somebody with an account", func(t *testing.T) { testInviteKnown(t, g) })
		t.Run("somebody who is invited elsewhere", func(t *testing.T) { testInviteTwice(t, g) })
		t.Run("what is refused", func(t *testing.T) { testInviteRefused(t, g) })
		t.Run("resend", func(t *testing.T) { testResend(t, g) })
		t.Run("revoke", func(t *testing.T) { testRevoke(t, g) })
		t.Run("list", func(t *testing.T) { testListInvitations(t, g) })
		t.Run("what else closes one", func(t *testing.T) { testInvitationEnds(t, g) })
		t.Run("races", func(t *testing.T) { testInvitationRaces(t, g) })
	})
}

func testInviteNew(t *testing.T, g guests) {
	email := "Grace." + newMark() + "@Example.com"
	body := m{"email": " " + email + " ", "roleIds": []string{g.member, g.member}, "message": "See you <b>soon</b>.\n\nBring = cake"}
	a := g.Do(t, apptest.Request{Method: http.MethodPost, Path: invitePath, Token: g.host.Token, Body: body, Header: map[string]string{"Idempotency-Key": "i1"}}).Want(t, http.StatusCreated)
	i := a.JSON
	if a.Header.Get("Location") != invitationsPath+"/"+i["id"].(string) || i["email"] != email || i["status"] != "Pending" || i["isNewAccount"] != true || i["invitedBy"] != g.host.ID ||
		i["sentAt"] != i["createdAt"] || i["acceptedAt"] != nil || i["revokedAt"] != nil || i["message"] != body["message"] || len(i) != 16 || i["emailConfirmed"] != false ||
		fmt.Sprint(i["roles"]) != fmt.Sprint([]any{m{"id": g.member, "name": "Member"}}) || !slices.Equal(texts(i["roleIds"]), []string{g.member}) {
		t.Errorf("unexpected invitation: %s", a.Raw)
	}
	again := g.Do(t, apptest.Request{Method: http.MethodPost, Path: invitePath, Token: g.host.Token, Body: body, Header: map[string]string{"Idempotency-Key": "i1"}}).Want(t, http.StatusCreated)
	if string(again.Raw) != string(a.Raw) {
		t.Errorf("replayed as %s", again.Raw)
	}
	if read := g.Get(t, a.Header.Get("Location"), g.host.Token).Want(t, http.StatusOK); string(read.Raw) != string(a.Raw) {
		t.Errorf("read as %s", read.Raw)
	}
	user := g.Get(t, "/api/v1/users/"+i["userId"].(string), g.host.Token).Want(t, http.StatusOK).JSON
	if user["email"] != email || user["isActive"] != true || !slices.Equal(texts(user["roles"]), []string{"Member"}) {
		t.Errorf("unexpected user: %v", user)
	}

	mail := g.Mail(t, email)
	if mail.Subject != "Invitation to Guests" || !strings.Contains(mail.Text, "Test Person invites you to Guests.\n\nSee you <b>soon</b>.\n\nBring = cake\n\n") ||
		!strings.Contains(mail.HTML, "<p>See you &lt;b&gt;soon&lt;/b&gt;.</p>") {
		t.Errorf("unexpected mail: %s\n%s\n%s", mail.Subject, mail.Text, mail.HTML)
	}
	link, token := g.Link(t, email)
	if link.Path != "/invitation" || link.Host != "steward.test" {
		t.Errorf("the link is %s", link)
	}
	g.setPassword(t, email, token).Want(t, http.StatusOK)
	g.setPassword(t, email, token).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
	if claims := claimsOf(t, g.Login(t, email, password).Token); claims["tenant_id"] != g.tenant {
		t.Errorf("signed in to %v", claims["tenant_id"])
	}
	if read := g.Get(t, a.Header.Get("Location"), g.host.Token).JSON; read["status"] != "Accepted" || read["emailConfirmed"] != true {
		t.Errorf("the invitation is %v", read)
	}
	if got := trail(t, g.Server, i["id"]); !strings.HasPrefix(got, "invitation.created - {") || !strings.HasSuffix(got, "\ninvitation.accepted - -") {
		t.Errorf("trail: %s", got)
	}
	if got := trail(t, g.Server, i["userId"]); !strings.HasPrefix(got, "user.created - {") {
		t.Errorf("trail: %s", got)
	}
	if who := one[string](t, g.Server, `SELECT tenant_id || ' ' || actor_id FROM audit_log WHERE action = 'invitation.accepted' AND target_id = $1`, i["id"]); who != g.tenant+" "+i["userId"].(string) {
		t.Errorf("accepted in the trail of %s", who)
	}
}

func testInviteKnown(t *testing.T, g guests) {
	email := newMark() + "@example.com"
	user := g.Register(t, email, password)
	token := g.Login(t, email, password).Token
	i := g.invite(t, m{"email": strings.ToUpper(email), "message": "Welcome"})
	if i["userId"] != user || i["email"] != email || i["status"] != "Accepted" || i["isNewAccount"] != false || i["expiresAt"] != nil || i["acceptedAt"] != i["createdAt"] ||
		fmt.Sprint(i["roles"]) != fmt.Sprint([]any{m{"id": g.member, "name": "Member"}}) {
		t.Errorf("unexpected invitation: %v", i)
	}
	wantEnded(t, g.Server, token, "SESSION_INVALIDATED")
	if mail := g.Mail(t, email); mail.Subject != "You were added to Guests" || !strings.Contains(mail.Text, "Welcome") || strings.Contains(mail.Text, "token=") {
		t.Errorf("unexpected mail: %s", mail.Text)
	}
	if tenants := one[int](t, g.Server, `SELECT count(*) FROM bindings WHERE user_id = $1`, user); tenants != 2 {
		t.Errorf("bound to %d tenants", tenants)
	}
	if got := trail(t, g.Server, user); !strings.Contains(got, "user.bound") {
		t.Errorf("trail: %s", got)
	}
	g.revoke(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
	g.resend(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
	g.Post(t, invitePath, g.host.Token, m{"email": email}).WantProblem(t, http.StatusConflict, "USER_ALREADY_ASSIGNED")
}

func testInviteTwice(t *testing.T, g guests) {
	elsewhere := newHolder(t, g.Server, defaultTenant(t, g.Server), "read:users", "create:users", "read:reports", "create:reports", "delete:reports")
	email, here := g.guest(t)
	_, first := g.Link(t, email)
	there := g.Post(t, invitePath, elsewhere.Token, m{"email": email}).Want(t, http.StatusCreated).JSON
	if there["userId"] != here["userId"] || there["isNewAccount"] != false || there["status"] != "Pending" || there["expiresAt"] == nil {
		t.Errorf("unexpected invitation: %v", there)
	}
	g.setPassword(t, email, first).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR") // only the newest link works
	g.revoke(t, here).Want(t, http.StatusOK)                                                  // takes back its own link alone
	g.accept(t, email).Want(t, http.StatusOK)
	if claims := claimsOf(t, g.Login(t, email, password).Token); claims["tenant_id"] != defaultTenant(t, g.Server) {
		t.Errorf("signed in to %v", claims["tenant_id"])
	}
	if status := g.Get(t, invitationsPath+"/"+there["id"].(string), elsewhere.Token).JSON["status"]; status != "Accepted" || g.status(t, here) != "Revoked" {
		t.Errorf("elsewhere %v, here %v", status, g.status(t, here))
	}
	again := g.invite(t, m{"email": email})
	if again["status"] != "Accepted" || again["id"] == here["id"] || g.status(t, here) != "Revoked" {
		t.Errorf("invited again: %v", again)
	}
}

func testInviteRefused(t *testing.T, g guests) {
	email := newMark() + "@example.com"
	many := make([]string, 51)
	for i := range many {
		many[i] = newMark()
	}
	before := g.places(t)
	for field, bodies := range map[string][]m{
		"email":      {{}, {"email": ""}, {"email": "nobody"}, {"email": "a b@example.com"}, {"email": strings.Repeat("a", 250) + "@example.com"}, {"email": nil}},
		"roleIds":    {{"email": email, "roleIds": []string{}}, {"email": email, "roleIds": many}},
		"roleIds[0]": {{"email": email, "roleIds": []string{"x"}}, {"email": email, "roleIds": []string{"00000000-0000-0000-0000-000000000000"}}},
		"message":    {{"email": email, "message": strings.Repeat("é", 2001)}, {"email": email, "message": "a\x07"}, {"email": email, "message": 5}},
	} {
		for _, body := range bodies {
			g.Post(t, invitePath, g.host.Token, body).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
		}
	}
	foreign := roleIn(t, g.Server, defaultTenant(t, g.Server))
	for _, role := range []string{newMark(), foreign} {
		g.Post(t, invitePath, g.host.Token, m{"email": email, "roleIds": []string{g.member, role}}).WantProblem(t, http.StatusNotFound, "ROLE_NOT_FOUND")
	}
	g.Post(t, invitePath, g.host.Token, m{"email": email, "roleIds": []string{systemRole(t, g.Server, "Tenant Administrator")}}).
		WantProblem(t, http.StatusForbidden, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED")
	g.Post(t, invitePath, newHolder(t, g.Server, g.tenant, "create:users").Token, m{"email": email, "roleIds": []string{g.member}}).
		WantProblem(t, http.StatusForbidden, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED")

	g.Write(t, `UPDATE tenants SET max_users = user_count WHERE id = $1`, g.tenant)
	g.Post(t, invitePath, g.host.Token, m{"email": email}).WantProblem(t, http.StatusBadRequest, "TENANT_CAPACITY_REACHED")
	g.Post(t, invitePath, g.host.Token, m{"email": apptest.AdminEmail}).WantProblem(t, http.StatusBadRequest, "TENANT_CAPACITY_REACHED")
	g.Write(t, `UPDATE tenants SET max_users = NULL WHERE id = $1`, g.tenant)
	if n := one[int](t, g.Server, `SELECT count(*) FROM users WHERE email = $1`, email); n != 0 || g.places(t)[0] != before[0] {
		t.Errorf("refused invitations left %d accounts and %v places of %v", n, g.places(t), before)
	}

	i := invitationsPath + "/" + g.invite(t, m{"email": email})["id"].(string)
	elsewhere := newHolder(t, g.Server, defaultTenant(t, g.Server), "read:users", "create:users")
	for _, path := range []string{i, invitationsPath + "/" + newMark()} {
		token := elsewhere.Token
		g.Get(t, path, token).WantProblem(t, http.StatusNotFound, "INVITATION_NOT_FOUND")
		remove(t, g.Server, path, token).WantProblem(t, http.StatusNotFound, "INVITATION_NOT_FOUND")
		g.Post(t, path+"/resend", token, nil).WantProblem(t, http.StatusNotFound, "INVITATION_NOT_FOUND")
	}
	g.Get(t, invitationsPath+"/x", g.host.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "id")
	reader, creator := newHolder(t, g.Server, g.tenant, "read:users").Token, newHolder(t, g.Server, g.tenant, "create:users").Token
	for _, r := range []apptest.Request{
		{Method: "POST", Path: invitePath, Token: reader, Body: m{"email": email}}, {Method: "DELETE", Path: i, Token: reader}, {Method: "POST", Path: i + "/resend", Token: reader},
		{Method: "GET", Path: invitationsPath, Token: creator}, {Method: "GET", Path: i, Token: creator},
	} {
		g.Do(t, r).WantProblem(t, http.StatusForbidden, "MISSING_PERMISSION")
	}
	g.Get(t, "/api/v1/users/invite", g.host.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR") // no id of a user
}

func testResend(t *testing.T, g guests) {
	email, i := g.guest(t)
	_, first := g.Link(t, email)
	g.Clock.Advance(8 * 24 * time.Hour)
	g.host.Token = g.Login(t, one[string](t, g.Server, `SELECT email FROM users WHERE id = $1`, g.host.ID), password).Token
	if g.status(t, i) != "Expired" {
		t.Errorf("after eight days the invitation is %v", g.status(t, i))
	}
	g.setPassword(t, email, first).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
	a := g.resend(t, i).Want(t, http.StatusOK)
	if a.JSON["status"] != "Pending" || a.JSON["createdAt"] != i["createdAt"] || a.JSON["sentAt"] == i["sentAt"] || a.JSON["expiresAt"] == i["expiresAt"] {
		t.Errorf("unexpected invitation: %s", a.Raw)
	}
	_, second := g.Link(t, email)
	g.resend(t, i).Want(t, http.StatusOK)
	g.setPassword(t, email, second).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
	g.accept(t, email).Want(t, http.StatusOK)
	g.resend(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
	if got := trail(t, g.Server, i["id"]); strings.Count(got, "invitation.resent") != 2 {
		t.Errorf("trail: %s", got)
	}
}

func testRevoke(t *testing.T, g guests) {
	g.host.Token = g.Login(t, one[string](t, g.Server, `SELECT email FROM users WHERE id = $1`, g.host.ID), password).Token
	t.Run("an account that nobody used goes too", func(t *testing.T) {
		before := g.places(t)
		email, i := g.guest(t)
		_, token := g.Link(t, email)
		if a := g.revoke(t, i).Want(t, http.StatusOK); len(a.Raw) != 0 {
			t.Errorf("a body: %s", a.Raw)
		}
		g.setPassword(t, email, token).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "token")
		g.Get(t, "/api/v1/users/"+i["userId"].(string), g.host.Token).WantProblem(t, http.StatusNotFound, "USER_NOT_FOUND")
		if g.places(t) != before || g.status(t, i) != "Revoked" {
			t.Errorf("places %v, before %v; the invitation is %v", g.places(t), before, g.status(t, i))
		}
		if got := trail(t, g.Server, i["id"]); !strings.HasSuffix(got, "invitation.revoked - -") || !strings.Contains(trail(t, g.Server, i["userId"]), "user.deleted") {
			t.Errorf("trail: %s", got)
		}
		g.revoke(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
		g.resend(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
		if again := g.invite(t, m{"email": email}); again["isNewAccount"] != true || again["userId"] == i["userId"] {
			t.Errorf("invited again: %v", again)
		}
	})
	t.Run("an account with another tenant stays", func(t *testing.T) {
		email, i := g.guest(t)
		bind(t, g.Server, i["userId"].(string), defaultTenant(t, g.Server), false)
		_, token := g.Link(t, email)
		g.revoke(t, i).Want(t, http.StatusOK)
		g.setPassword(t, email, token).WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR")
		if n := one[int](t, g.Server, `SELECT count(*) FROM users u JOIN bindings b ON b.user_id = u.id WHERE u.id = $1 AND u.deleted_at IS NULL`, i["userId"]); n != 1 {
			t.Errorf("%d bindings are left", n)
		}
	})
	t.Run("an account that has a password stays", func(t *testing.T) {
		_, i := g.guest(t)
		g.Write(t, `UPDATE users SET password_hash = 'set by an operator' WHERE id = $1`, i["userId"])
		g.revoke(t, i).Want(t, http.StatusOK)
		if n := one[int](t, g.Server, `SELECT count(*) FROM users WHERE id = $1 AND deleted_at IS NULL`, i["userId"]); n != 1 || g.status(t, i) != "Revoked" {
			t.Errorf("%d accounts are left, and the invitation is %v", n, g.status(t, i))
		}
	})
	t.Run("one that has expired", func(t *testing.T) {
		_, i := g.guest(t)
		g.Write(t, `UPDATE invitations SET expires_at = created_at WHERE id = $1`, i["id"])
		if g.status(t, i) != "Expired" {
			t.Errorf("it is %v", g.status(t, i))
		}
		g.revoke(t, i).Want(t, http.StatusOK)
	})
	t.Run("not of somebody who may do more", func(t *testing.T) {
		_, i := g.guest(t)
		give(t, g.Server, i["userId"].(string), g.tenant, systemRole(t, g.Server, "Tenant Administrator"))
		g.revoke(t, i).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
		g.resend(t, i).WantProblem(t, http.StatusForbidden, "FORBIDDEN")
	})
}

func testListInvitations(t *testing.T, g guests) {
	tenant := newTenant(t, g.Server, "Listed")
	g.tenant, g.host = tenant, newHolder(t, g.Server, tenant, "read:users", "create:users", "read:reports", "create:reports", "delete:reports")
	mark := newMark()[28:]
	ids := map[string]string{}
	for _, status := range []string{"Pending", "Accepted", "Expired", "Revoked"} {
		email := strings.ToLower(status) + mark + "@example.com"
		i := g.invite(t, m{"email": email, "message": status})
		ids[i["id"].(string)] = status
		switch status {
		case "Accepted":
			g.accept(t, email).Want(t, http.StatusOK)
		case "Expired":
			g.Write(t, `UPDATE invitations SET expires_at = created_at WHERE id = $1`, i["id"])
		case "Revoked":
			g.revoke(t, i).Want(t, http.StatusOK)
		}
	}
	list := func(query string) apptest.Answer {
		return g.Get(t, invitationsPath+"?"+query, g.host.Token).Want(t, http.StatusOK)
	}
	a := list("")
	if a.JSON["totalCount"] != 4.0 || a.JSON["pageSize"] != 20.0 || fieldOf(t, a, "status") != "Pending Accepted Expired Revoked" {
		t.Errorf("unexpected list: %s", a.Raw)
	}
	for _, item := range a.JSON["items"].([]any) {
		i := item.(m)
		if ids[i["id"].(string)] != i["status"] || (i["acceptedAt"] != nil) != (i["status"] == "Accepted") || (i["revokedAt"] != nil) != (i["status"] == "Revoked") {
			t.Errorf("unexpected invitation: %v", i)
		}
	}
	for query, want := range map[string]string{
		"status=pending": "Pending", "status=ACCEPTED": "Accepted", "status=Expired": "Expired", "status=revoked": "Revoked",
		"search=EXPIRED" + mark: "Expired", "search=" + url.QueryEscape("%"): "", "search=" + mark + "&status=Pending": "Pending", "search=" + mark + "@&pageSize=2&page=2": "Expired Revoked",
		"sortBy=email&sortDirection=desc": "Revoked Pending Expired Accepted", "sortBy=STATUS": "Accepted Expired Pending Revoked", "includeDeleted=true&pageNumber=2&pageSize=3": "Revoked",
	} {
		if got := fieldOf(t, list(query), "status"); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	for field := range a.JSON["items"].([]any)[0].(m) {
		if field == "roles" || field == "roleIds" {
			g.Get(t, invitationsPath+"?sortBy="+field, g.host.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "sortBy")
			continue
		}
		up, down := texts(column(list("sortBy=" + field).JSON["items"], "id")), texts(column(list("sortDirection=desc&sortBy=" + field).JSON["items"], "id"))
		if slices.Reverse(down); !slices.Equal(up, down) {
			t.Errorf("by %s: %v, and backwards %v", field, up, down)
		}
	}
	for query, field := range map[string]string{"page=0": "page", "pageSize=101": "pageSize", "status=open": "status", "sortBy=linkHash": "sortBy"} {
		g.Get(t, invitationsPath+"?"+query, g.host.Token).WantProblem(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, field)
	}
	if strings.Contains(string(a.Raw), "ash") {
		t.Errorf("the list shows a hash: %s", a.Raw)
	}
}

func testInvitationEnds(t *testing.T, g guests) {
	admin := g.Login(t, apptest.AdminEmail, apptest.AdminPassword).Token
	g.host.Token = g.Login(t, one[string](t, g.Server, `SELECT email FROM users WHERE id = $1`, g.host.ID), password).Token
	t.Run("a password reset instead of the link", func(t *testing.T) {
		email, i := g.guest(t)
		g.Post(t, "/api/auth/request-password-reset", "", m{"email": email}).Want(t, http.StatusOK)
		g.accept(t, email).Want(t, http.StatusOK)
		if g.status(t, i) != "Accepted" {
			t.Errorf("the invitation is %v", g.status(t, i))
		}
	})
	t.Run("a sign-in with a password that an operator set", func(t *testing.T) {
		email, i := g.guest(t)
		if err := g.App.Identity.SetPassword(t.Context(), email, password); err != nil {
			t.Fatal(err)
		}
		before := g.status(t, i)
		g.Login(t, email, password)
		if before != "Pending" || g.status(t, i) != "Accepted" {
			t.Errorf("the invitation was %v and is %v", before, g.status(t, i))
		}
	})
	t.Run("the account is deleted", func(t *testing.T) {
		_, i := g.guest(t)
		remove(t, g.Server, "/api/v1/admin/users/"+i["userId"].(string), admin).Want(t, http.StatusOK)
		if g.status(t, i) != "Revoked" {
			t.Errorf("the invitation is %v", g.status(t, i))
		}
		g.revoke(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
	})
	t.Run("the user is taken out of the tenant", func(t *testing.T) {
		email, i := g.guest(t)
		bind(t, g.Server, i["userId"].(string), defaultTenant(t, g.Server), false)
		remove(t, g.Server, "/api/v1/tenants/"+g.tenant+"/users/"+i["userId"].(string), admin).Want(t, http.StatusOK)
		if g.status(t, i) != "Revoked" {
			t.Errorf("the invitation is %v", g.status(t, i))
		}
		g.resend(t, i).WantProblem(t, http.StatusConflict, "INVITATION_CLOSED_CONFLICT")
		g.accept(t, email).Want(t, http.StatusOK) // the account has another tenant: the link is good for that
		if g.status(t, i) != "Revoked" {
			t.Errorf("after all the invitation is %v", g.status(t, i))
		}
		second := g.invite(t, m{"email": email})
		if g.status(t, second) != "Accepted" || g.status(t, i) != "Revoked" {
			t.Errorf("the new one is %v, the old one %v", g.status(t, second), g.status(t, i))
		}
	})
}

func testInvitationRaces(t *testing.T, g guests) {
	g.host.Token = g.Login(t, one[string](t, g.Server, `SELECT email FROM users WHERE id = $1`, g.host.ID), password).Token
	t.Run("many invite one person at once", func(t *testing.T) {
		before := g.places(t)
		email := newMark() + "@example.com"
		statuses := parallel(6, func(int) int { return g.Post(t, invitePath, g.host.Token, m{"email": email}).Status })
		if count(statuses, http.StatusCreated) != 1 || count(statuses, http.StatusConflict) != 5 {
			t.Errorf("answers %v", statuses)
		}
		accounts, open := one[int](t, g.Server, `SELECT count(*) FROM users WHERE email = $1`, email), one[int](t, g.Server, `SELECT count(*) FROM invitations WHERE email = $1`, email)
		if places := g.places(t); accounts != 1 || open != 1 || places[0] != before[0]+1 || places[1] != before[1]+1 {
			t.Errorf("%d accounts, %d invitations, places %v after %v", accounts, open, places, before)
		}
		g.accept(t, email).Want(t, http.StatusOK)
	})
	t.Run("two tenants invite one person at once", func(t *testing.T) {
		other := newHolder(t, g.Server, defaultTenant(t, g.Server), "create:users")
		email := newMark() + "@example.com"
		statuses := parallel(2, func(i int) int {
			return g.Post(t, invitePath, []string{g.host.Token, other.Token}[i], m{"email": email}).Status
		})
		if count(statuses, http.StatusCreated) != 2 {
			t.Errorf("answers %v", statuses)
		}
		g.accept(t, email).Want(t, http.StatusOK)
		if n := one[int](t, g.Server, `SELECT count(*) FROM invitations i JOIN users u ON u.id = i.user_id AND u.email = $1 WHERE i.accepted_at IS NOT NULL`, email); n != 2 {
			t.Errorf("%d invitations are accepted", n)
		}
	})
	t.Run("the last place", func(t *testing.T) {
		g.Write(t, `UPDATE tenants SET max_users = user_count + 1 WHERE id = $1`, g.tenant)
		codes := parallel(4, func(int) string {
			a := g.Post(t, invitePath, g.host.Token, m{"email": newMark() + "@example.com"})
			return fmt.Sprint(a.Status, a.JSON["code"])
		})
		g.Write(t, `UPDATE tenants SET max_users = NULL WHERE id = $1`, g.tenant)
		if count(codes, "201 <nil>") != 1 || count(codes, "400TENANT_CAPACITY_REACHED") != 3 {
			t.Errorf("answers %v", codes)
		}
	})
	t.Run("of two revocations one succeeds", func(t *testing.T) {
		before := g.places(t)
		_, i := g.guest(t)
		codes := parallel(4, func(int) string {
			a := g.revoke(t, i)
			return fmt.Sprint(a.Status, a.JSON["code"])
		})
		if count(codes, "200 <nil>") != 1 || count(codes, "409INVITATION_CLOSED_CONFLICT") != 3 || g.places(t) != before {
			t.Errorf("answers %v, places %v after %v", codes, g.places(t), before)
		}
	})
	t.Run("it is either accepted or revoked", func(t *testing.T) {
		for range 4 {
			email, i := g.guest(t)
			_, token := g.Link(t, email)
			statuses := parallel(2, func(n int) int {
				if n == 0 {
					return g.revoke(t, i).Status
				}
				return g.setPassword(t, email, token).Status
			})
			accepted := fmt.Sprint(statuses) == "[409 200]" && g.status(t, i) == "Accepted"
			revoked := fmt.Sprint(statuses) == "[200 400]" && g.status(t, i) == "Revoked"
			if accepted == revoked {
				t.Errorf("answers %v, and the invitation is %v", statuses, g.status(t, i))
			}
		}
	})
}
