// Package api lists every route of the program and says how each looks on the wire.
package api

import (
	"net/http"

	"steward/internal/fault"
	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// API is what the handlers call.
type API struct {
	Identity *identity.Service
	Apps     *resource.Resource[identity.App, identity.CreateApp, identity.UpdateApp, identity.AppQuery]
	// PublicURL is the issuer of tokens and the address of the key set.
	PublicURL string
}

// Mount puts every route on the server. A line says: method, path, who may call, what it is for, what
// differs from its group, and the function that answers.
func (a *API) Mount(s *web.Server) {
	auth := web.Group{Convention: web.Envelope, Limit: "identity", Tag: "Authentication"}
	web.Handle(s, auth.Post("/api/auth/login", web.Public, "Sign in with e-mail and password").Limited("login").As(fault.AccountLocked, http.StatusUnauthorized).Errors(loginCodes...).Doc(loginDoc).Example(loginExample, grantExample), a.login)
	web.Handle(s, auth.Post("/api/auth/social-login", web.Public, "Sign in with an account at a social provider").Errors(socialCodes...).Doc(socialDoc).Example(socialExample, grantExample), a.socialLogin)
	web.Handle(s, auth.Post("/api/auth/register", web.Public, "Make an account").Limited("register").Status(http.StatusCreated).SuccessKey("success").Errors(fault.Forbidden, fault.Conflict).Doc(registerDoc).Example(registerExample, registeredExample), a.register)
	web.Handle(s, auth.Post("/api/auth/refresh", web.Public, "Exchange a refresh token for a new pair").Errors(fault.TokenInvalid, fault.TokenExpired, fault.Forbidden).Doc(refreshDoc).Example(refreshExample, refreshedExample), a.refresh)
	web.Handle(s, auth.Post("/api/auth/logout", web.AnyToken, "Sign out everywhere").Doc(logoutDoc), a.logout)
	web.Handle(s, auth.Post("/api/auth/switch-tenant", web.AnyToken, "Enter another tenant").Errors(fault.Forbidden).Doc(switchDoc).Example(switchExample, switchedExample), a.switchTenant)
	web.Handle(s, auth.Get("/api/auth/me", web.AnyToken, "Who is calling").Doc(meDoc).Example(nil, meExample), a.me)
	web.Handle(s, auth.Get("/api/auth/me/complete", web.AnyToken, "Profile of the caller").Doc("The same as `GET /api/auth/me?include=profile`.").Example(nil, profileExample), a.meComplete)
	web.Handle(s, auth.Post("/api/auth/request-password-reset", web.Public, "Ask for a password reset mail").Limited("reset").Doc(resetRequestDoc).Example(emailExample, nil), a.requestPasswordReset)
	web.Handle(s, auth.Post("/api/auth/reset-password", web.Public, "Choose a new password by the link of a mail").Doc(resetDoc).Example(resetExample, nil), a.resetPassword)
	web.Handle(s, auth.Post("/api/auth/change-password", web.TenantToken, "Change the own password").Errors(fault.AccountLocked).Doc(changeDoc).Example(changeExample, nil), a.changePassword)
	web.Handle(s, auth.Post("/api/auth/confirm-email", web.Public, "Confirm an e-mail address by the link of a mail").Example(confirmExample, nil), a.confirmEmail)
	web.Handle(s, auth.Post("/api/auth/resend-confirmation", web.Public, "Ask for another confirmation mail").Limited("reset").Doc(resendDoc).Example(emailExample, nil), a.resendConfirmation)
	web.Handle(s, auth.Get("/api/auth/sessions", web.TenantToken, "Own sessions").Doc(sessionsDoc).Example(nil, sessionsExample), a.sessions)
	web.Handle(s, auth.Delete("/api/auth/sessions/{id}", web.TenantToken, "End one of the own sessions").Errors(fault.NotFound).Doc(endSessionDoc), a.endSession)

	keys := web.Group{Convention: web.Problem, Tag: "Token verification"}
	web.Handle(s, keys.Get("/.well-known/jwks.json", web.Public, "Public keys").Doc(jwksDoc), a.jwks)
	web.Handle(s, keys.Get("/.well-known/openid-configuration", web.Public, "Issuer of the tokens").Example(nil, discoveryExample), a.discovery)

	plain := web.Group{Convention: web.Problem, Limit: "general", Tag: "Apps"}
	web.Mount(s, plain, "/api/v1/apps", a.Apps)
}
