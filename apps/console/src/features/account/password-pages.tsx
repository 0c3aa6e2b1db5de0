import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { NewPasswordField } from './password-field.tsx';
import { useForm } from './use-form.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

export function ForgotPasswordPage() {
  const [sent, setSent] = useState(false);
  const { busy, error, onSubmit } = useForm(async ({ email = '' }) => {
    await authCall('POST', '/request-password-reset', { email, redirectTo: '/console/reset-password' });
    setSent(true);
  });
  if (sent) {
    return (
      <SingleFormPage
        title="Look into your mail"
        about="If there is an account for this address, a link to set a new password is on its way. It works for an hour."
      >
        <TextLink to="/sign-in">Back to the sign-in</TextLink>
      </SingleFormPage>
    );
  }
  return (
    <SingleFormPage title="Forgot your password?" about="We send you a link to set a new one.">
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Sending…'}>
          Send the link
        </Button>
      </form>
    </SingleFormPage>
  );
}

export function ResetPasswordPage() {
  const { token } = useSearch({ from: '/reset-password' });
  const [done, setDone] = useState(false);
  const { busy, error, onSubmit } = useForm(async ({ password = '' }) => {
    await authCall('POST', '/reset-password', { newPassword: password, token: token ?? '' });
    setDone(true);
  });
  if (done) {
    return (
      <SingleFormPage
        title="Your new password is set"
        about="Whoever was signed in with the old one is signed out."
      >
        <LinkButton to="/sign-in" kind="primary">
          Sign in
        </LinkButton>
      </SingleFormPage>
    );
  }
  if (token === undefined) {
    return (
      <SingleFormPage
        title="This link is not whole"
        about="Copy it again from the mail, or have a new one sent."
      >
        <TextLink to="/forgot-password">Send a new link</TextLink>
      </SingleFormPage>
    );
  }
  return (
    <SingleFormPage title="Set a new password">
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <NewPasswordField label="New password" autoFocus />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Setting it…'}>
          Set the password
        </Button>
      </form>
    </SingleFormPage>
  );
}
