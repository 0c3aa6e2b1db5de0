import { afterEach, expect, it } from 'vitest';
import { announceVerification, signInOnVerification } from './verification-channel.ts';

const opened: BroadcastChannel[] = [];
afterEach(() => {
  for (const channel of opened.splice(0)) channel.close();
});

/** Each tab receives what the other posts. */
function twoTabs(name: string): readonly [BroadcastChannel, BroadcastChannel] {
  const tabs = [new BroadcastChannel(name), new BroadcastChannel(name)] as const;
  opened.push(...tabs);
  return tabs;
}

it('the tab of the sign-up signs in when the link was opened', async () => {
  const [signUp, link] = twoTabs('signs in');
  const steps: string[] = [];
  const replies: string[] = [];
  signInOnVerification(
    signUp,
    async () => steps.push('sign in'),
    () => steps.push('continue'),
  );
  announceVerification(link, (reply) => replies.push(reply));
  await expect.poll(() => replies).toEqual(['signing-in', 'signed-in']);
  expect(steps).toEqual(['sign in', 'continue']);
});

it('a failed sign-in is reported and can be repeated', async () => {
  const [signUp, link] = twoTabs('fails');
  const fail = async (): Promise<void> => {
    throw new Error('refused');
  };
  signInOnVerification(signUp, fail, () => expect.fail('not signed in'));
  const replies: string[] = [];
  const announce = (): void => announceVerification(link, (reply) => replies.push(reply));
  announce();
  await expect.poll(() => replies).toEqual(['signing-in', 'failed']);
  announce();
  await expect.poll(() => replies).toEqual(['signing-in', 'failed', 'signing-in', 'failed']);
});
