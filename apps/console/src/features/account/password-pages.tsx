import { useMutation } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { authCall, SignInError } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Problem } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { NewPasswordField } from './password-field.tsx';
import { useForm } from './use-form.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

const sendLink = (email: string): Promise<unknown> =>
  authCall('POST', '/request-password-reset', { email, redirectTo: '/console/reset-password' });

export function ForgotPasswordPage() {
  const [address, setAddress] = useState<string | null>(null);
  const { busy, error, onSubmit } = useForm(async ({ email = '' }) => {
    await sendLink(email);
    setAddress(email);
  });
  if (address !== null) return <LinkSent email={address} onOtherAddress={() => setAddress(null)} />;
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

function LinkSent({ email, onOtherAddress }: Readonly<{ email: string; onOtherAddress: () => void }>) {
  const again = useMutation({ mutationFn: () => sendLink(email) });
  return (
    <SingleFormPage
      title="Check your email"
      about={
        <>
          If an account exists for <strong className="text-ink break-words">{email}</strong>, we sent it a
          link to set a new password. It is valid for one hour.
        </>
      }
      below="No email? Wait a minute, then check your spam folder."
    >
      <div className="flex flex-col gap-3">
        {again.error !== null && <Problem error={again.error} doing="send the email" />}
        {again.isSuccess && (
          <p role="status" className="text-soft">
            We sent another email, if the account exists.
          </p>
        )}
        <Button busy={again.isPending && 'Sending…'} onClick={() => again.mutate()}>
          Resend email
        </Button>
        <Button kind="quiet" onClick={onOtherAddress}>
          Use another address
        </Button>
        <TextLink to="/sign-in" className="text-center">
          Back to sign-in
        </TextLink>
      </div>
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
        <RequestLink />
      </SingleFormPage>
    );
  }
  // The service checks the link only with the new password.
  if (error instanceof SignInError && error.code === 'INVALID_TOKEN') {
    return (
      <SingleFormPage
        title="This link is no longer valid"
        about="It was used before or has expired. Your password has not changed."
      >
        <RequestLink />
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

function RequestLink() {
  return (
    <LinkButton to="/forgot-password" kind="primary">
      Request a new link
    </LinkButton>
  );
}
