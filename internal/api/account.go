package api

import (
	"context"

	"steward/internal/identity"
	"steward/internal/web"
)

type emailInput struct {
	Body struct {
		Email string `json:"email" minLength:"1" maxLength:"254"`
	}
}

func (a *API) requestPasswordReset(ctx context.Context, in *emailInput) (*web.Reply[web.None], error) {
	if err := a.Identity.RequestPasswordReset(ctx, in.Body.Email); err != nil {
		return nil, err
	}
	return web.Done("If an account has this e-mail, a mail with a link is on its way."), nil
}

func (a *API) resendConfirmation(ctx context.Context, in *emailInput) (*web.Reply[web.None], error) {
	if err := a.Identity.ResendConfirmation(ctx, in.Body.Email); err != nil {
		return nil, err
	}
	return web.Done("If an account with this e-mail waits for its confirmation, a mail with a link is on its way."), nil
}

type resetInput struct {
	Body struct {
		Email               string `json:"email" minLength:"1" maxLength:"254"`
		Token               string `json:"token" minLength:"1" maxLength:"512" doc:"From the link in the mail."`
		NewPassword         string `json:"newPassword" minLength:"1" maxLength:"4096" doc:"8 to 128 characters."`
		IsPasswordEncrypted bool   `json:"isPasswordEncrypted,omitempty" doc:"The password is a compact JWE, as at sign-in."`
	}
}

func (in *resetInput) reset() identity.PasswordReset {
	return identity.PasswordReset{Email: in.Body.Email, Token: in.Body.Token, NewPassword: in.Body.NewPassword, Encrypted: in.Body.IsPasswordEncrypted}
}

func (a *API) resetPassword(ctx context.Context, in *resetInput) (*web.Reply[web.None], error) {
	if err := a.Identity.ResetPassword(ctx, in.reset()); err != nil {
		return nil, err
	}
	return web.Done("The password is set. Sign in with it."), nil
}

type changeInput struct {
	Body struct {
		CurrentPassword     string `json:"currentPassword" minLength:"1" maxLength:"4096"`
		NewPassword         string `json:"newPassword" minLength:"1" maxLength:"4096" doc:"8 to 128 characters."`
		IsPasswordEncrypted bool   `json:"isPasswordEncrypted,omitempty" doc:"Both passwords are compact JWEs, as at sign-in."`
	}
}

func (a *API) changePassword(ctx context.Context, in *changeInput) (*web.Reply[web.None], error) {
	if err := a.Identity.ChangePassword(ctx, in.Body.CurrentPassword, in.Body.NewPassword, in.Body.IsPasswordEncrypted); err != nil {
		return nil, err
	}
	return web.Done("The password is changed and every session is signed out. Sign in with the new one."), nil
}

type confirmInput struct {
	Body struct {
		Email string `json:"email" minLength:"1" maxLength:"254"`
		Token string `json:"token" minLength:"1" maxLength:"512" doc:"From the link in the mail."`
	}
}

func (a *API) confirmEmail(ctx context.Context, in *confirmInput) (*web.Reply[web.None], error) {
	if err := a.Identity.ConfirmEmail(ctx, in.Body.Email, in.Body.Token); err != nil {
		return nil, err
	}
	return web.Done("The e-mail address is confirmed."), nil
}
