/**
 * Messages between the tab of the sign-up and the tab of the emailed link in the same browser. The link itself must not
 * sign in, because mail servers open it too. The tab of the sign-up knows the password, so it signs in.
 */

export const VERIFICATION_CHANNEL = 'millrace.verification';

type VerificationMessage = 'verified' | 'signing-in' | 'signed-in' | 'failed';

/** In the tab of the sign-up: signs in once after another tab has verified the address. */
export function signInOnVerification(
  channel: BroadcastChannel,
  signIn: () => Promise<unknown>,
  onSignedIn: () => void,
): void {
  const send = (message: VerificationMessage): void => channel.postMessage(message);
  let isSigningIn = false;
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data !== 'verified' || isSigningIn) return;
    isSigningIn = true;
    send('signing-in');
    signIn().then(
      () => {
        send('signed-in');
        onSignedIn();
      },
      () => {
        isSigningIn = false;
        send('failed');
      },
    );
  };
}

/** In the tab of the link: announces the verified address and reports the replies. */
export function announceVerification(
  channel: BroadcastChannel,
  onReply: (reply: Exclude<VerificationMessage, 'verified'>) => void,
): void {
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data === 'signing-in' || data === 'signed-in' || data === 'failed') onReply(data);
  };
  channel.postMessage('verified' satisfies VerificationMessage);
}
