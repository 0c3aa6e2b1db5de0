import { Navigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { authCall, SignInError } from '../../api/auth.ts';
import { useInstallation, usePerson } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { canUsePasskeys, signInWithPasskey } from './passkeys.ts';
import { PasswordField } from './password-field.tsx';
import { ResendVerification } from './resend-verification.tsx';
import { TwoFactorPrompt } from './two-factor-prompt.tsx';
import { useForm } from './use-form.ts';
import { consolePath, useGoTo } from './use-go-to.ts';
import { TextLink } from '../../ui/link.tsx';

export function SignInPage() {
  const { next } = useSearch({ from: '/sign-in' });
  const { person, again } = usePerson();
  const { data: installation } = useInstallation();
  const goTo = useGoTo();
  const [needsCode, setNeedsCode] = useState(false);
  const arrive = async (): Promise<void> => {
    await again();
    if (next !== undefined) goTo(next);
  };
  if (person.state === 'in' && !needsCode) {
    return <Navigate to={person.memberships.length === 0 ? '/welcome' : '/overview'} replace />;
  }
  if (needsCode) return <TwoFactorPrompt onDone={arrive} />;
  const closed = installation?.signUp === 'closed';
  return (
    <SingleFormPage
      title="Sign in"
      below={
        closed ? (
          'Sign-up is by invitation only.'
        ) : (
          <>
            New here?{' '}
            <TextLink to="/sign-up" search={next === undefined ? {} : { next }}>
              Sign up
            </TextLink>
          </>
        )
      }
    >
      <PasswordForm onDone={arrive} onSecondFactor={() => setNeedsCode(true)} />
      <OtherSignInMethods next={next} onDone={arrive} />
    </SingleFormPage>
  );
}

function PasswordForm(props: Readonly<{ onDone: () => Promise<void>; onSecondFactor: () => void }>) {
  const { onDone, onSecondFactor } = props;
  const [unverified, setUnverified] = useState<string | null>(null);
  const { busy, error, onSubmit } = useForm(async ({ email = '', password = '' }) => {
    setUnverified(null);
    try {
      const response = await authCall<{ twoFactorRedirect?: boolean }>('POST', '/sign-in/email', {
        email,
        password,
      });
      if (response.twoFactorRedirect === true) onSecondFactor();
      else await onDone();
    } catch (failure) {
      if (!(failure instanceof SignInError) || failure.code !== 'EMAIL_NOT_VERIFIED') throw failure;
      setUnverified(email);
    }
  });
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-3">
      <TextField label="Email" name="email" type="email" autoComplete="username" required autoFocus />
      <PasswordField label="Password" />
      {error !== null && <Problem error={error} />}
      {unverified !== null && <UnverifiedEmail email={unverified} />}
      <Button kind="primary" type="submit" busy={busy && 'Signing in…'}>
        Sign in
      </Button>
      <TextLink to="/forgot-password" className="text-center">
        Forgot your password?
      </TextLink>
    </form>
  );
}

/** Shown when the password was correct but the email address is not verified. */
function UnverifiedEmail({ email }: Readonly<{ email: string }>) {
  return (
    <Note tone="warn">
      <p>Verify your email address first. Open the link in the email we sent to {email}.</p>
      <div className="mt-2 flex flex-col items-start gap-2">
        <ResendVerification email={email} size="small" />
      </div>
    </Note>
  );
}

function OtherSignInMethods(props: Readonly<{ next: string | undefined; onDone: () => Promise<void> }>) {
  const { next, onDone } = props;
  const { data: installation } = useInstallation();
  const [error, setError] = useState<unknown>(null);
  if (installation === undefined) return null;
  const { oidc } = installation;
  const passkeys = installation.passkeys && canUsePasskeys();
  if (!passkeys && oidc.length === 0) return null;
  const attempt = (work: () => Promise<void>) => () => {
    setError(null);
    work().catch(setError);
  };
  const leave = async (providerId: string): Promise<void> => {
    const { url } = await authCall<{ url: string }>('POST', '/sign-in/social', {
      provider: providerId,
      callbackURL: consolePath(next),
    });
    globalThis.location.assign(url);
  };
  return (
    <div className="border-line mt-4 flex flex-col gap-2 border-t pt-4">
      {passkeys && (
        <Button
          onClick={attempt(async () => {
            await signInWithPasskey();
            await onDone();
          })}
        >
          Sign in with a passkey
        </Button>
      )}
      {oidc.map(({ id, name }) => (
        <Button key={id} onClick={attempt(() => leave(id))}>
          Sign in with {name}
        </Button>
      ))}
      {error !== null && <Problem error={error} />}
    </div>
  );
}
