package api

import "steward/internal/fault"

// What the API reference says beyond names and types.

var (
	loginCodes  = []fault.Code{fault.InvalidCredentials, fault.AccountLocked, fault.AccountDisabled, fault.EmailNotConfirmed, fault.Forbidden}
	socialCodes = []fault.Code{fault.InvalidCredentials, fault.AccountDisabled, fault.EmailNotConfirmed, fault.Forbidden, fault.Conflict, fault.Unavailable}
)

const (
	loginDoc = "The tenant is the preferred one if the account is bound to it, else the only one, else (with no preference) the default one. " +
		"Where none of these decides, the token is a global one, good for two minutes and for `switch-tenant`.\n\n" +
		"Wrong passwords in a row lock the e-mail for a while, whether or not an account has it."
	socialDoc = "The provider's own endpoint verifies the token, which must have been issued for this application. " +
		"An unknown person gets an account if the provider vouches for the e-mail; an existing account with that e-mail is linked if its own address is confirmed."
	registerDoc     = "The account is active and bound as the configuration says. A mail with a link confirms the address."
	refreshDoc      = "A refresh token works once. One that comes back after it was used ends its session, unless it comes within ten seconds."
	logoutDoc       = "Ends every session of the caller; all their tokens are refused from now on."
	switchDoc       = "Opens a session in the tenant with a pair of tokens of its own. The pair used for this call stays valid."
	meDoc           = "The basic form says what the token says. `include=profile` reads the profile instead."
	resetRequestDoc = "The answer is the same, and takes the same time, whether or not an account has the e-mail. The link works once and for one hour."
	resetDoc        = "Signs out every session of the account and lifts a lockout. A token that is wrong, used or too old is a validation error on `token`."
	changeDoc       = "Signs out every session of the caller, this one too. A wrong current password is a validation error on `currentPassword` and counts towards a lockout."
	resendDoc       = "The answer is the same whether or not an account waits for its confirmation."
	sessionsDoc     = "Live sessions of the caller, the latest used first, at most a hundred."
	endSessionDoc   = "Tokens of that session are refused from now on; the others stay."
	jwksDoc         = "Keys with use `sig` verify access tokens, the one with use `enc` encrypts passwords."
)

type object = map[string]any

const (
	exampleID     = "0192f0c1-7c1e-7d2a-9a52-0a6f2f6f3b10"
	exampleTenant = "0192f0c1-7bd0-7c55-8f0e-5d1f7f2a9c01"
	exampleTime   = "2026-11-15T10:00:00Z"
	exampleToken  = "eyJhbGciOiJFUzI1NiIsImtpZCI6Ii4uLiJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl"
	exampleOpaque = "q0Zb1dZ0s3m3J8n2q6cYV5o0wq3m8m8yJ1a7c9r2k4E"
)

var (
	loginExample = object{"email": "ada@example.com", "password": "correct horse", "isPasswordEncrypted": false}
	grantExample = object{
		"token": exampleToken, "refreshToken": exampleOpaque, "expiresAt": exampleTime, "permissions": []string{"read:users"},
		"isFirstLogin": false, "mustChangePassword": false, "daysUntilPasswordExpiration": nil, "isGlobal": false,
		"requiresTenantSelection": false, "tokenType": "Tenant", "smartAutoSwitched": false,
		"currentTenant": object{"id": exampleTenant, "name": "Default", "isDefault": true, "permissions": []string{"read:users"}},
	}
	socialExample     = object{"provider": "google", "accessToken": "ya29.a0AfH6SM"}
	registerExample   = object{"email": "ada@example.com", "password": "correct horse", "fullName": "Ada Lovelace", "phoneNumber": "+44 20 7946 0958"}
	registeredExample = object{"id": exampleID, "email": "ada@example.com", "fullName": "Ada Lovelace", "createdAt": exampleTime}
	refreshExample    = object{"refreshToken": exampleOpaque}
	refreshedExample  = object{
		"token": exampleToken, "refreshToken": exampleOpaque, "expiresAt": exampleTime, "permissions": []string{"read:users"},
		"isGlobal": false, "tokenType": "Tenant",
	}
	switchExample   = object{"tenantId": exampleTenant}
	switchedExample = object{
		"token": exampleToken, "refreshToken": exampleOpaque, "expiresAt": exampleTime, "isGlobal": false, "tokenType": "Tenant",
		"currentTenant": object{"id": exampleTenant, "name": "Default", "isDefault": true},
	}
	meExample      = object{"id": exampleID, "name": "Ada Lovelace", "email": "ada@example.com", "roles": []string{"Member"}, "permissions": []string{"read:reports"}}
	profileExample = object{
		"id": exampleID, "email": "ada@example.com", "fullName": "Ada Lovelace", "phoneNumber": "", "profilePictureUrl": "", "emailConfirmed": true,
		"roles": []string{"Member"}, "permissions": []string{"read:reports"},
		"tenants":   []object{{"id": exampleTenant, "name": "Default", "isDefault": true}},
		"createdAt": exampleTime, "lastLoginAt": exampleTime,
	}
	emailExample    = object{"email": "ada@example.com"}
	resetExample    = object{"email": "ada@example.com", "token": exampleOpaque, "newPassword": "battery staple"}
	changeExample   = object{"currentPassword": "correct horse", "newPassword": "battery staple"}
	confirmExample  = object{"email": "ada@example.com", "token": exampleOpaque}
	sessionsExample = object{
		"items": []object{{
			"id": exampleID, "tenantId": exampleTenant, "tenantName": "Default", "appId": "", "device": "curl/8.5.0", "address": "203.0.113.7",
			"isCurrent": true, "createdAt": exampleTime, "lastUsedAt": exampleTime, "expiresAt": exampleTime,
		}},
		"totalCount": 1, "page": 1, "pageSize": 1, "totalPages": 1,
	}
	discoveryExample = object{
		"issuer": "https://steward.example.com", "jwks_uri": "https://steward.example.com/.well-known/jwks.json",
		"response_types_supported": []string{"token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"}, "claims_supported": []string{"iss", "sub"},
	}
)
