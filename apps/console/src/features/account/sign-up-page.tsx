import { Navigate, useLocation, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { useInstallation, usePerson } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading, Problem } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { storeInvitationSecret } from './invitation-secret.ts';
import { NewPasswordField } from './password-field.tsx';
import { useForm } from './use-form.ts';
import { TextLink } from '../../ui/link.tsx';

/** Reads the invitation secret from the URL fragment, which is never logged. Accepting needs it again. */
function useInvitationSecret(): string | null {
  const hash = useLocation({ select: (location) => location.hash });
  const secret = new URLSearchParams(hash).get('invitation');
  useEffect(() => {
    if (secret !== null) storeInvitationSecret(sessionStorage, secret);
  }, [secret]);
  return secret;
}

export function SignUpPage() {
  const { next } = useSearch({ from: '/sign-up' });
  const invitationSecret = useInvitationSecret();
  const { person } = usePerson();
  const installation = useInstallation();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const { busy, error, onSubmit } = useForm(async ({ name = '', email = '', password = '' }) => {
    await authCall('POST', '/sign-up/email', {
      ...{ name, email, password, callbackURL: '/console/verified' },
      ...(invitationSecret === null ? {} : { invitationSecret }),
    });
    setSentTo(email);
  });
  if (person.state === 'in')
    return <Navigate to={invitationSecret === null ? '/overview' : '/invitations'} replace />;
  if (installation.data === undefined) return <Loading what="sign-up" />;
  const { mail, signUp } = installation.data;
  if (sentTo !== null && mail) return <CheckYourEmail email={sentTo} />;
  if (sentTo !== null) return <Navigate to="/sign-in" search={{ next: '/console/invitations' }} replace />;
  if (signUp === 'closed' && invitationSecret === null) return <SignUpClosed />;
  const afterwards = invitationSecret === null ? next : '/console/invitations';
  return (
    <SingleFormPage
      title="Sign up"
      about={
        invitationSecret === null
          ? 'Browse machines and prices for free. Pay only for what you run.'
          : 'Use the email address that the invitation was sent to.'
      }
      below={
        <>
          Already have an account?{' '}
          <TextLink to="/sign-in" search={afterwards === undefined ? {} : { next: afterwards }}>
            Sign in
          </TextLink>
        </>
      }
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField label="Your name" name="name" autoComplete="name" required maxLength={255} autoFocus />
        <TextField label="Email" name="email" type="email" autoComplete="username" required maxLength={255} />
        <NewPasswordField label="Password" />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Signing up…'}>
          Sign up
        </Button>
      </form>
    </SingleFormPage>
  );
}

function CheckYourEmail({ email }: Readonly<{ email: string }>) {
  const [again, setAgain] = useState<'no' | 'sent'>('no');
  return (
    <SingleFormPage
      title="Check your email"
      about={
        <>
          We sent a link to <strong className="text-ink">{email}</strong>. Open it to verify your address and
          sign in.
        </>
      }
      below="No email? Wait a minute, then check your spam folder."
    >
      <Button
        off={again === 'sent' && 'The email was sent.'}
        onClick={() => {
          void authCall('POST', '/send-verification-email', { email, callbackURL: '/console/verified' });
          setAgain('sent');
        }}
      >
        {again === 'sent' ? 'Email sent' : 'Resend email'}
      </Button>
    </SingleFormPage>
  );
}

function SignUpClosed() {
  return (
    <SingleFormPage
      title="Sign-up is by invitation"
      about="Ask the operator, or an owner or admin of your organisation, to invite you."
    >
      <TextLink to="/sign-in">Sign in</TextLink>
    </SingleFormPage>
  );
}
