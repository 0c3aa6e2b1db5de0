import { useMutation } from '@tanstack/react-query';
import { authCall } from '../../api/auth.ts';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/states.tsx';

interface ResendVerificationProps {
  readonly email: string;
  readonly size?: 'small' | 'medium';
}

/** Sends the verification email once more, and says whether that worked. */
export function ResendVerification({ email, size = 'medium' }: ResendVerificationProps) {
  const send = useMutation({
    mutationFn: () =>
      authCall('POST', '/send-verification-email', { email, callbackURL: '/console/verified' }),
  });
  return (
    <>
      {send.error !== null && <Problem error={send.error} doing="send the email" />}
      {send.isSuccess ? (
        <p role="status">We sent a new email.</p>
      ) : (
        <Button size={size} busy={send.isPending && 'Sending…'} onClick={() => send.mutate()}>
          Resend email
        </Button>
      )}
    </>
  );
}
