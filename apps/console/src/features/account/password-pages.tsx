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
        title="Check your email"
        about="If an account exists for this address, we sent a link to set a new password. It is valid for one hour."
      >
        <TextLink to="/sign-in">Back to sign-in</TextLink>
      </SingleFormPage>
    );
  }
  return (
    <SingleFormPage title="Forgot your password?" about="We will email you a link to set a new one.">
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Sending…'}>
          Send link
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
        title="Password changed"
        about="All sessions that used the old password are signed out."
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
        title="This link is incomplete"
        about="Copy the whole link from the email, or request a new one."
      >
        <TextLink to="/forgot-password">Request a new link</TextLink>
      </SingleFormPage>
    );
  }
  return (
    <SingleFormPage title="Set a new password">
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <NewPasswordField label="New password" autoFocus />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Saving…'}>
          Set password
        </Button>
      </form>
    </SingleFormPage>
  );
}
