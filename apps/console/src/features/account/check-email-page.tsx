import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { authCall, SignInError } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import { createFirstOrganisation } from './first-organisation.ts';
import { ResendVerification } from './resend-verification.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { signInOnVerification, VERIFICATION_CHANNEL } from './verification-channel.ts';

export interface SignUpRequest {
  readonly email: string;
  readonly password: string;
  /** Null: the user is invited to one. */
  readonly organisation: string | null;
}

interface CheckEmailProps {
  readonly request: SignUpRequest;
  readonly onSignedIn: () => void;
}

/** Waits until the user has opened the emailed link, then signs in. */
export function CheckYourEmail({ request, onSignedIn }: CheckEmailProps) {
  const { email } = request;
  const signIn = useSignIn(request, onSignedIn);
  const isUnverified = signIn.error instanceof SignInError && signIn.error.code === 'EMAIL_NOT_VERIFIED';
  return (
    <SingleFormPage
      title="Check your email"
      about={
        <>
          We sent a link to <strong className="text-ink">{email}</strong>. Open it to verify your address.
          This browser is then signed in.
        </>
      }
      below="No email? Wait a minute, then check your spam folder."
    >
      <div className="flex flex-col gap-3">
        {isUnverified && <Note tone="warn">Your address is not verified yet. We sent you another link.</Note>}
        {signIn.error !== null && !isUnverified && <Problem error={signIn.error} />}
        <Button kind="primary" busy={signIn.isPending && 'Signing in…'} onClick={() => signIn.mutate()}>
          Continue
        </Button>
        <p className="text-soft text-xs">Continue here if you opened the link on another device.</p>
        <ResendVerification email={email} />
      </div>
    </SingleFormPage>
  );
}

function useSignIn({ email, password, organisation }: SignUpRequest, onSignedIn: () => void) {
  const signIn = useMutation({
    mutationFn: async (): Promise<void> => {
      await authCall('POST', '/sign-in/email', { email, password });
      // If this fails, the welcome page asks for the organisation.
      if (organisation !== null) await createFirstOrganisation(organisation).catch(() => undefined);
    },
  });
  const latest = useRef({ signIn, onSignedIn });
  useEffect(() => {
    latest.current = { signIn, onSignedIn };
  });
  useEffect(() => {
    const channel = new BroadcastChannel(VERIFICATION_CHANNEL);
    signInOnVerification(
      channel,
      () => latest.current.signIn.mutateAsync(),
      () => latest.current.onSignedIn(),
    );
    return () => channel.close();
  }, []);
  return { ...signIn, mutate: () => signIn.mutate(undefined, { onSuccess: onSignedIn }) };
}
