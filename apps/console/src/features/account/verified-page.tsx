import { Navigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { usePerson } from '../../api/session.tsx';
import { Loading } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { announceVerification, VERIFICATION_CHANNEL } from './verification-channel.ts';

/** Target of the link in the verification email. */
export function VerifiedPage() {
  const { error } = useSearch({ from: '/verified' });
  const { person, again } = usePerson();
  const isSigningIn = useSignInByOtherTab(error === undefined && person.state === 'out', again);
  if (error !== undefined) {
    return (
      <SingleFormPage
        title="This link is not valid"
        about="It has been used, has expired or is incomplete. Sign in to get a new one."
      >
        <LinkButton to="/sign-in" kind="primary">
          Sign in
        </LinkButton>
      </SingleFormPage>
    );
  }
  if (person.state === 'unknown') return <Loading what="your account" />;
  if (person.state === 'in')
    return <Navigate to={person.memberships.length === 0 ? '/welcome' : '/overview'} replace />;
  if (isSigningIn) return <Loading what="your account" />;
  return (
    <SingleFormPage title="Email verified" about="Sign in to continue.">
      <LinkButton to="/sign-in" kind="primary">
        Sign in
      </LinkButton>
    </SingleFormPage>
  );
}

/** Asks the tab of the sign-up, if it is open in this browser, to sign in. True while it does. */
function useSignInByOtherTab(isSignedOut: boolean, onSignedIn: () => Promise<unknown>): boolean {
  const [isSigningIn, setSigningIn] = useState(false);
  useEffect(() => {
    if (!isSignedOut) return;
    const channel = new BroadcastChannel(VERIFICATION_CHANNEL);
    announceVerification(channel, (reply) => {
      setSigningIn(reply !== 'failed');
      if (reply === 'signed-in') void onSignedIn();
    });
    return () => channel.close();
  }, [isSignedOut, onSignedIn]);
  return isSigningIn;
}
