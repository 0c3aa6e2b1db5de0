import { Navigate, Outlet, useLocation } from '@tanstack/react-router';
import { Loading } from '../ui/states.tsx';
import { usePerson, useSessionIfAny } from './session.tsx';

/** Lets those in who are signed in and belong to an organisation, and shows the others the way. */
export function SignedIn() {
  const { person } = usePerson();
  const session = useSessionIfAny();
  const { href } = useLocation();
  if (person.state === 'out') return <Navigate to="/sign-in" search={{ next: href }} replace />;
  if (person.state === 'in' && person.memberships.length === 0) return <Navigate to="/welcome" replace />;
  return session === null ? <Loading what="your organisation" /> : <Outlet />;
}
