import { useNavigate } from '@tanstack/react-router';
import { endSession } from '../api/auth.ts';
import { usePerson } from '../api/session.tsx';

export function useSignOut(): () => Promise<void> {
  const { again } = usePerson();
  const navigate = useNavigate();
  return async () => {
    await endSession();
    await again();
    await navigate({ to: '/' });
  };
}
