import { Outlet, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { PageSkeleton } from '../ui/skeleton.tsx';
import { Loading } from '../ui/states.tsx';
import { usePerson, useSessionIfAny } from '../api/session.tsx';

/** Shows the page to signed-in members of an organisation and redirects others. */
export function RequireSignIn() {
  const { person } = usePerson();
  const session = useSessionIfAny();
  if (person.state === 'out') return <RedirectToSignIn />;
  if (person.state === 'in' && person.memberships.length === 0) return <RedirectToWelcome />;
  return session === null ? <PageSkeleton what="your organisation" title /> : <Outlet />;
}

/**
 * Redirects once, to the location at mount. Reading the current location instead would loop, since it already is the
 * sign-in page while that page loads.
 */
function RedirectToSignIn() {
  const navigate = useNavigate();
  const from = useRef(useRouter().state.location.href);
  useEffect(() => {
    void navigate({ to: '/sign-in', search: { next: from.current }, replace: true });
  }, [navigate]);
  return <Loading what="sign-in" />;
}

function RedirectToWelcome() {
  const navigate = useNavigate();
  useEffect(() => {
    void navigate({ to: '/welcome', replace: true });
  }, [navigate]);
  return <Loading what="the welcome page" />;
}
