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
import { CheckYourEmail, type SignUpRequest } from './check-email-page.tsx';
import { storeOrganisationName } from './first-organisation.ts';
import { useForm } from './use-form.ts';
import { useGoTo } from './use-go-to.ts';
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
  const { person, again } = usePerson();
  const installation = useInstallation();
  const goTo = useGoTo();
  const [sent, setSent] = useState<SignUpRequest | null>(null);
  const { busy, error, onSubmit } = useForm(async (fields) => {
    const { name = '', email = '', password = '', organisation = '' } = fields;
    await authCall('POST', '/sign-up/email', {
      ...{ name, email, password, callbackURL: '/console/verified' },
      ...(invitationSecret === null ? {} : { invitationSecret }),
    });
    if (invitationSecret === null) storeOrganisationName(localStorage, organisation);
    setSent({ email, password, organisation: invitationSecret === null ? organisation : null });
  });
  if (person.state === 'in')
    return <Navigate to={invitationSecret === null ? '/overview' : '/invitations'} replace />;
  if (installation.data === undefined) return <Loading what="sign-up" />;
  const { mail, signUp } = installation.data;
  if (sent !== null && mail) {
    const arrive = async (): Promise<void> => {
      await again();
      if (next !== undefined) goTo(next);
    };
    return <CheckYourEmail request={sent} onSignedIn={() => void arrive()} />;
  }
  if (sent !== null) return <Navigate to="/sign-in" search={{ next: '/console/invitations' }} replace />;
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
        {invitationSecret === null && (
          <TextField
            label="Organisation name"
            name="organisation"
            autoComplete="organization"
            hint="Owns your machines and balance: your company, your team or just you."
            required
            maxLength={100}
          />
        )}
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Signing up…'}>
          Sign up
        </Button>
      </form>
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
