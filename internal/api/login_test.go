package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"steward/internal/app/apptest"
	"steward/internal/config"
	"steward/internal/db"
)

func TestLoginAnswersTheWholeLoginResult(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		a := s.TryLogin(t, apptest.AdminEmail, apptest.AdminPassword).Want(t, http.StatusOK)
		if a.JSON["isSuccess"] != true {
			t.Fatalf("no success: %s", a.Raw)
		}
		data := a.Data(t)
		for _, name := range []string{"token", "refreshToken", "expiresAt", "permissions", "isFirstLogin", "mustChangePassword",
			"daysUntilPasswordExpiration", "isGlobal", "requiresTenantSelection", "tokenType", "currentTenant", "smartAutoSwitched"} {
			if _, ok := data[name]; !ok {
				t.Errorf("no %s in %s", name, a.Raw)
			}
		}
		tenant := data["currentTenant"].(m)
		if data["tokenType"] != "Tenant" || data["isGlobal"] != false || data["requiresTenantSelection"] != false ||
			data["isFirstLogin"] != true || data["daysUntilPasswordExpiration"] != nil || data["mustChangePassword"] != false ||
			fmt.Sprint(data["permissions"]) != "[*]" || tenant["name"] != "Default" || tenant["isDefault"] != true || fmt.Sprint(tenant["permissions"]) != "[*]" {
			t.Errorf("unexpected result: %s", a.Raw)
		}
		claims := claimsOf(t, data["token"].(string))
		if claims["iss"] != apptest.PublicURL || claims["aud"] != "steward" || claims["token_type"] != "Tenant" || claims["tenant_id"] != tenant["id"] ||
			claims["exp"].(float64)-claims["iat"].(float64) != 3600 {
			t.Errorf("unexpected claims: %v", claims)
		}
		if expires, err := time.Parse(time.RFC3339, data["expiresAt"].(string)); err != nil || float64(expires.Unix()) != claims["exp"] {
			t.Errorf("expiresAt %v does not fit exp %v", data["expiresAt"], claims["exp"])
		}
		if again := s.TryLogin(t, apptest.AdminEmail, apptest.AdminPassword).Data(t); again["isFirstLogin"] != false {
			t.Error("the second login calls itself the first")
		}
	})
}

func TestLoginChoosesTheTenant(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		user := s.Register(t, email, password)
		own := defaultTenant(t, s)
		login := func(preferred string) m {
			body := m{"email": email, "password": password}
			if preferred != "" {
				body["preferredTenantId"] = preferred
			}
			return s.Post(t, "/api/auth/login", "", body).Want(t, http.StatusOK).Data(t)
		}
		wantTenant := func(data m, id string, auto bool) {
			t.Helper()
			current, _ := data["currentTenant"].(m)
			if current["id"] != id || data["smartAutoSwitched"] != auto || data["isGlobal"] != false || data["tokenType"] != "Tenant" {
				t.Fatalf("want tenant %s (auto %v): %v", id, auto, data)
			}
		}
		wantGlobal := func(data m, mustSelect bool) {
			t.Helper()
			claims := claimsOf(t, data["token"].(string))
			if data["isGlobal"] != true || data["tokenType"] != "Global" || data["requiresTenantSelection"] != mustSelect || data["currentTenant"] != nil ||
				fmt.Sprint(data["permissions"]) != "[]" || claims["exp"].(float64)-claims["iat"].(float64) != 120 || claims["tenant_id"] != nil {
				t.Fatalf("want global (select %v): %v", mustSelect, data)
			}
		}
		wantTenant(login(""), own, false)

		other := newTenant(t, s, "Other")
		wantTenant(login(other), own, false) // not bound to the wish, and only one way in
		bind(t, s, user, other, false)
		wantGlobal(login(""), true)
		wantTenant(login(other), other, false)

		s.Write(t, `UPDATE bindings SET is_default = TRUE WHERE user_id = $1 AND tenant_id = $2`, user, other)
		wantTenant(login(""), other, true)
		wantTenant(login(own), own, false)
		wantGlobal(login(newTenant(t, s, "Third")), true) // a wish that cannot be met beats the default

		s.Write(t, `UPDATE bindings SET is_active = FALSE WHERE user_id = $1 AND tenant_id = $2`, user, other)
		wantTenant(login(""), own, false)
		s.Write(t, `UPDATE tenants SET is_active = FALSE WHERE id = $1`, own)
		wantGlobal(login(""), false)
	})
}

func TestLoginRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		s.Register(t, "off@example.com", password)
		s.Write(t, `UPDATE users SET is_active = FALSE WHERE email_key = 'off@example.com'`)
		s.Register(t, "gone@example.com", password)
		s.Write(t, `UPDATE users SET deleted_at = created_at WHERE email_key = 'gone@example.com'`)
		for _, c := range []struct {
			name, email, password, code string
		}{
			{"a wrong password", email, "wrong horse", "INVALID_CREDENTIALS"},
			{"an unknown e-mail", "nobody@example.com", password, "INVALID_CREDENTIALS"},
			{"a deleted account", "gone@example.com", password, "INVALID_CREDENTIALS"},
			{"a disabled account with its password", "off@example.com", password, "ACCOUNT_DISABLED"},
			{"a disabled account with a wrong password", "off@example.com", "wrong horse", "INVALID_CREDENTIALS"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s.TryLogin(t, c.email, c.password).WantEnvelope(t, http.StatusUnauthorized, c.code)
			})
		}
		t.Run("e-mails in another case are the same account", func(t *testing.T) {
			s.TryLogin(t, strings.ToUpper(email), password).Want(t, http.StatusOK)
		})
	})
}

func TestLoginAsksForAConfirmedAddressWhereConfigured(t *testing.T) {
	apptest.Each(t, func(c *config.Config) { c.RequireConfirmedEmail = true }, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		s.TryLogin(t, email, "wrong horse").WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		s.TryLogin(t, email, password).WantEnvelope(t, http.StatusUnauthorized, "EMAIL_NOT_CONFIRMED")
		_, token := s.Link(t, email)
		s.Post(t, "/api/auth/confirm-email", "", m{"email": email, "token": token}).Want(t, http.StatusOK)
		s.TryLogin(t, email, password).Want(t, http.StatusOK)
	})
}

func TestWrongPasswordsLockTheEmail(t *testing.T) {
	for _, who := range []string{"a known e-mail", "an unknown e-mail"} {
		t.Run(who, func(t *testing.T) {
			each(t, func(t *testing.T, s *apptest.Server) {
				if who == "a known e-mail" {
					s.Register(t, email, password)
				}
				for range 5 {
					s.TryLogin(t, email, "wrong horse").WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
				}
				s.TryLogin(t, email, "wrong horse").WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_LOCKED")
				s.TryLogin(t, strings.ToUpper(email), password).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_LOCKED")
				s.Clock.Advance(15*time.Minute + time.Second)
				s.TryLogin(t, email, "wrong horse").WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
			})
		})
	}
}

func TestARightPasswordForgetsTheWrongOnes(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		for range 3 {
			for range 4 {
				s.TryLogin(t, email, "wrong horse").WantEnvelope(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
			}
			s.TryLogin(t, email, password).Want(t, http.StatusOK)
		}
	})
}

func TestFiftyParallelWrongPasswordsGetFiveAnswers(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		codes := parallel(50, func(int) string {
			return s.TryLogin(t, email, "wrong horse").JSON["errorCode"].(string)
		})
		if n := count(codes, "INVALID_CREDENTIALS"); n != 5 || count(codes, "ACCOUNT_LOCKED") != 45 {
			t.Errorf("%d attempts were told that the password is wrong, want 5: %v", n, codes)
		}
		s.TryLogin(t, email, password).WantEnvelope(t, http.StatusUnauthorized, "ACCOUNT_LOCKED")
	})
}

func TestParallelRightPasswordsAllGetIn(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		answers := parallel(30, func(int) int { return s.TryLogin(t, email, password).Status })
		if n := count(answers, http.StatusOK); n != 30 {
			t.Errorf("%d of 30 got in: %v", n, answers)
		}
	})
}

func TestALockoutLeavesOpenSessionsAlone(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		for range 6 {
			s.TryLogin(t, email, "wrong horse")
		}
		wantAlive(t, s, pair.Token)
		s.Post(t, "/api/auth/refresh", "", m{"refreshToken": pair.Refresh}).Want(t, http.StatusOK)
	})
}

func TestAppAccess(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		s.Register(t, "bound@example.com", password)
		s.Write(t, `UPDATE users SET app_ids = '["payroll"]' WHERE email_key = 'bound@example.com'`)
		admin := s.Login(t, apptest.AdminEmail, apptest.AdminPassword)
		s.Post(t, "/api/v1/apps", admin.Token, m{"appId": "closed", "name": "Closed", "isActive": false}).Want(t, http.StatusCreated)
		for _, c := range []struct {
			name, email, header, field string
			status                     int
		}{
			{"no app asked for", "bound@example.com", "", "", http.StatusOK},
			{"an account without a list passes for any app", email, "anything", "", http.StatusOK},
			{"the app on the list", "bound@example.com", "payroll", "", http.StatusOK},
			{"the app on the list, by the body", "bound@example.com", "", "payroll", http.StatusOK},
			{"an app not on the list", "bound@example.com", "other", "", http.StatusForbidden},
			{"the header wins over the body", "bound@example.com", "other", "payroll", http.StatusForbidden},
			{"a registered app that is switched off", email, "closed", "", http.StatusForbidden},
			{"the same in another case", email, "CLOSED", "", http.StatusForbidden},
		} {
			t.Run(c.name, func(t *testing.T) {
				a := s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/auth/login", Header: map[string]string{"X-App-Id": c.header},
					Body: m{"email": c.email, "password": password, "requestedAppId": c.field}}).Want(t, c.status)
				if c.status == http.StatusForbidden {
					a.WantEnvelope(t, http.StatusForbidden, "FORBIDDEN")
				}
			})
		}
	})
}

func TestEncryptedPasswords(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		key := encryptionKey(t, s)
		sealed := seal(t, key, password)
		for _, c := range []struct {
			name string
			body m
			code string
		}{
			{"a JWE with the flag", m{"password": sealed, "isPasswordEncrypted": true}, ""},
			{"a JWE with the flag left out", m{"password": sealed}, ""},
			{"a plain password with the flag left out", m{"password": password}, ""},
			{"a plain password with the flag", m{"password": password, "isPasswordEncrypted": true}, ""},
			{"a JWE with the flag off is the password itself", m{"password": sealed, "isPasswordEncrypted": false}, "INVALID_CREDENTIALS"},
			{"a JWE of the wrong password", m{"password": seal(t, key, "wrong horse")}, "INVALID_CREDENTIALS"},
			{"a JWE that was changed", m{"password": sealed[:len(sealed)-4] + "AAAA"}, "INVALID_CREDENTIALS"},
		} {
			t.Run(c.name, func(t *testing.T) {
				c.body["email"] = email
				a := s.Post(t, "/api/auth/login", "", c.body)
				if c.code == "" {
					a.Want(t, http.StatusOK)
				} else {
					a.WantEnvelope(t, http.StatusUnauthorized, c.code)
				}
			})
		}
		t.Run("elsewhere a JWE that cannot be opened is a validation error", func(t *testing.T) {
			s.Post(t, "/api/auth/register", "", m{"email": "eve@example.com", "fullName": "Eve", "isPasswordEncrypted": true, "password": sealed[:len(sealed)-4] + "AAAA"}).
				WantEnvelope(t, http.StatusBadRequest, "VALIDATION_ERROR").WantField(t, "password")
		})
		t.Run("register takes a JWE too", func(t *testing.T) {
			s.Post(t, "/api/auth/register", "", m{"email": "eve@example.com", "fullName": "Eve", "isPasswordEncrypted": true, "password": sealed}).Want(t, http.StatusCreated)
			s.TryLogin(t, "eve@example.com", password).Want(t, http.StatusOK)
		})
	})
}

func encryptionKey(t *testing.T, s *apptest.Server) jose.JSONWebKey {
	t.Helper()
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(s.Get(t, "/.well-known/jwks.json", "").Want(t, http.StatusOK).Raw, &set); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(set.Keys, func(k jose.JSONWebKey) bool { return k.Use == "enc" })
	if i < 0 {
		t.Fatal("no key with use enc")
	}
	return set.Keys[i]
}

func seal(t *testing.T, key jose.JSONWebKey, text string) string {
	t.Helper()
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, err := encrypter.Encrypt([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func TestPasswordsExpireWherePolicySaysSo(t *testing.T) {
	apptest.Each(t, func(c *config.Config) { c.PasswordExpireDays = 30 }, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		if data := s.TryLogin(t, email, password).Data(t); data["daysUntilPasswordExpiration"] != 29.0 && data["daysUntilPasswordExpiration"] != 30.0 || data["mustChangePassword"] != false {
			t.Errorf("fresh password: %v", data)
		}
		s.Clock.Advance(31 * 24 * time.Hour)
		if data := s.TryLogin(t, email, password).Data(t); data["daysUntilPasswordExpiration"] != 0.0 || data["mustChangePassword"] != true {
			t.Errorf("old password: %v", data)
		}
	})
}

func TestBadLoginBodies(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		for _, c := range []struct {
			name   string
			body   any
			status int
			code   string
			field  string
		}{
			{"no e-mail", m{"password": password}, 400, "VALIDATION_ERROR", "email"},
			{"no password", m{"email": email}, 400, "VALIDATION_ERROR", "password"},
			{"empty password", m{"email": email, "password": ""}, 400, "VALIDATION_ERROR", "password"},
			{"null e-mail", m{"email": nil, "password": password}, 400, "VALIDATION_ERROR", "email"},
			{"a number for an e-mail", m{"email": 7, "password": password}, 400, "VALIDATION_ERROR", "email"},
			{"an object for a password", m{"email": email, "password": m{}}, 400, "VALIDATION_ERROR", "password"},
			{"a tenant that is no guid", m{"email": email, "password": password, "preferredTenantId": "x"}, 400, "VALIDATION_ERROR", "preferredTenantId"},
			{"the nil guid", m{"email": email, "password": password, "preferredTenantId": "00000000-0000-0000-0000-000000000000"}, 400, "VALIDATION_ERROR", "preferredTenantId"},
			{"a flag that is a text", m{"email": email, "password": password, "isPasswordEncrypted": "yes"}, 400, "VALIDATION_ERROR", "isPasswordEncrypted"},
			{"a very long password", m{"email": email, "password": strings.Repeat("a", 900_000)}, 400, "VALIDATION_ERROR", "password"},
			{"a body over the limit", m{"email": email, "password": strings.Repeat("a", 1<<20)}, 413, "BODY_TOO_LARGE", ""},
			{"no JSON", `{"email":`, 400, "VALIDATION_ERROR", "body"},
			{"an array", `[]`, 400, "VALIDATION_ERROR", "body"},
			{"nothing", ``, 400, "VALIDATION_ERROR", "body"},
			{"broken UTF-8", []byte("{\"email\":\"\xff\xfe\",\"password\":\"x\"}"), 400, "VALIDATION_ERROR", "body"},
			{"a key twice", `{"email":"a@example.com","email":"b@example.com","password":"x"}`, 400, "VALIDATION_ERROR", "email"},
			{"something after the end", `{"email":"a@example.com","password":"x"}{}`, 400, "VALIDATION_ERROR", "body"},
			{"a deep nest", strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), 400, "VALIDATION_ERROR", "body"},
			{"a NUL character", `{"email":"a\u0000@example.com","password":"x"}`, 400, "VALIDATION_ERROR", "email"},
		} {
			t.Run(c.name, func(t *testing.T) {
				a := s.Post(t, "/api/auth/login", "", c.body).WantEnvelope(t, c.status, c.code)
				if c.field != "" {
					a.WantField(t, c.field)
				}
				if strings.Contains(string(a.Raw), password) {
					t.Error("the answer repeats the password")
				}
			})
		}
		t.Run("optional fields may be null and unknown ones are ignored", func(t *testing.T) {
			s.Register(t, email, password)
			s.Post(t, "/api/auth/login", "", m{"email": email, "password": password, "preferredTenantId": nil, "requestedAppId": nil, "isPasswordEncrypted": nil, "newField": m{"a": 1}}).
				Want(t, http.StatusOK)
		})
		t.Run("another content type", func(t *testing.T) {
			s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/auth/login", Body: "email=a", Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}).
				WantEnvelope(t, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		})
	})
}

// parallel runs fn n times at once and returns what each said.
func parallel[T any](n int, fn func(i int) T) []T {
	results := make([]T, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			results[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return results
}

func count[T comparable](all []T, wanted T) int {
	n := 0
	for _, v := range all {
		if v == wanted {
			n++
		}
	}
	return n
}

func TestGuessesBesideTheOwnersSignInAreCounted(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		s.Register(t, email, password)
		for range 15 {
			answers := parallel(4, func(i int) int {
				return s.TryLogin(t, email, []string{password, "wrong horse"}[i%2]).Status
			})
			for _, status := range answers {
				if status != http.StatusOK && status != http.StatusUnauthorized {
					t.Fatalf("answers %v", answers)
				}
			}
		}
	})
}

func TestATokenHoldsAThousandPermissions(t *testing.T) {
	each(t, func(t *testing.T, s *apptest.Server) {
		for i := range 1000 {
			code := "read:thing-" + strconv.Itoa(i)
			s.Write(t, `INSERT INTO permissions (id, code, code_key, created_at, updated_at) VALUES ($1, $2, $2, $3, $3)`, uuid.New(), code, db.At(s.Clock.Now()))
		}
		s.Write(t, `INSERT INTO role_permissions (role_id, permission_id) SELECT r.id, p.id FROM roles r, permissions p WHERE r.name = 'Member' AND p.code LIKE 'read:thing-%'`)
		s.Register(t, email, password)
		pair := s.Login(t, email, password)
		if n := len(s.Get(t, "/api/auth/me", pair.Token).Want(t, http.StatusOK).Data(t)["permissions"].([]any)); n < 1000 {
			t.Errorf("%d permissions", n)
		}
	})
}
