import { Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { Loading } from '../ui/states.tsx';
import { usePerson, useSessionIfAny } from '../api/session.tsx';

/** Lets those in who are signed in and belong to an organisation, and shows the others the way. */
export function RequireSignIn() {
  const { person } = usePerson();
  const session = useSessionIfAny();
  if (person.state === 'out') return <RedirectToSignIn />;
  if (person.state === 'in' && person.memberships.length === 0) return <RedirectToWelcome />;
  return session === null ? <Loading what="your organisation" /> : <Outlet />;
}

/**
 * Sends once, to come back to where one was when this began. While the next page loads the location is that page's already, so
 * whoever went by what it is now would be sent from there to there without an end.
 */
function RedirectToSignIn() {
  const navigate = useNavigate();
  const from = useRef(useRouter().state.location.href);
  useEffect(() => {
    void navigate({ to: '/sign-in', search: { next: from.current }, replace: true });
  }, [navigate]);
  return <Loading what="the sign-in" />;
}

function RedirectToWelcome() {
  const navigate = useNavigate();
  useEffect(() => {
    void navigate({ to: '/welcome', replace: true });
  }, [navigate]);
  return <Loading what="what to do first" />;
}
